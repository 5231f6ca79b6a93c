//! Published tables that the schema-change topic does not define yet. Their events wait until the
//! definition is announced.

use std::sync::Arc;

use commitlog_core::mutation::MutationReader;
use commitlog_core::schema::{AnnouncedSchema, Schema, TableId, UnannouncedTable};
use rustc_hash::FxHashMap;

use crate::format::EventFormat;
use crate::publisher::skip_reason;
use crate::record_error::RecordError;

/// The tables and columns of one schema that have not been announced.
#[derive(Default)]
pub(crate) struct Announcements {
    announced: Option<Arc<AnnouncedSchema>>,
    unannounced: FxHashMap<TableId, UnannouncedTable>,
}

impl Announcements {
    /// Determines the unannounced tables and columns again if `announced` has changed.
    pub fn update(
        &mut self,
        announced: Option<&Arc<AnnouncedSchema>>,
        schema: &Schema,
        format: &EventFormat,
    ) {
        let is_same = match (&self.announced, announced) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        self.announced = announced.map(Arc::clone);
        self.unannounced.clear();
        if let Some(announced) = announced {
            let tables = schema.tables().into_iter();
            let published = tables.filter(|table| skip_reason(table, format).is_none());
            self.unannounced
                .extend(published.filter_map(|table| Some((table.id, announced.lacks(table)?))));
        }
    }

    /// Rejects the current update of `mutation` if it needs an unannounced definition.
    pub fn require(
        &self,
        table: TableId,
        mutation: &MutationReader<'_, '_>,
    ) -> Result<(), Box<RecordError>> {
        if self.unannounced.is_empty() {
            return Ok(());
        }
        let (Some(announced), Some(unannounced), Some(table)) = (
            &self.announced,
            self.unannounced.get(&table),
            mutation.table(),
        ) else {
            return Ok(());
        };
        if announced.is_lacking_for(unannounced, table, mutation.listed_columns()) {
            return Err(Box::new(RecordError::Unannounced));
        }
        Ok(())
    }
}
