//! Checks events before they are stored, and keeps only the member `cells`.
//!
//! The check parses `cells` as later merges do, so no stored event makes its table unreadable.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, LargeStringBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::Fields;
use spark_arrow::Bytes;

use crate::arena::append_base64;
use crate::columns::Columns;
use crate::error::{MergeError, Result};
use crate::event::{find_cells, read_place};
use crate::ingest::Ingest;
use crate::output::nullable;
use crate::partition::Group;
use crate::window::Window;

const INVALID_CONTEXT: &str = "has a counter cell that is not a context with a total for each \
    leader, as Cassandra 2.1 and later writes it. Remove its table from `counter.tables`, and \
    select other tables with `tables`";

/// The columns of [`Intake::read`].
pub fn intake_fields() -> Result<Fields> {
    Ok(Rows::default().finish()?.fields().clone())
}

/// Reads the values of records.
pub struct Intake {
    /// The ids of the tables whose counters are merged.
    counters: HashSet<String>,
}

struct Found {
    table: String,
    token: i64,
    ck: Option<Vec<u8>>,
    event: String,
}

impl Intake {
    pub fn new(counters: HashSet<String>) -> Self {
        Self { counters }
    }

    /// Returns a row for each value. For a value that is not an event, only `error` is set.
    ///
    /// # Errors
    /// [`MergeError::Batch`] if the batch has no binary column `value`.
    pub fn read(&self, batch: &StructArray) -> Result<StructArray> {
        let column = batch.column_by_name("value");
        let values = column.and_then(|column| Bytes::from_array(column));
        let values = values.ok_or_else(|| {
            MergeError::Batch("Column value of the batch: expected bytes.".to_owned())
        })?;
        let mut rows = Rows::default();
        for row in 0..batch.len() {
            rows.add(self.read_value(values.get(row).unwrap_or_default()));
        }
        rows.finish()
    }

    fn read_value(&self, value: &[u8]) -> Result<Found> {
        let cells = find_cells(value)?;
        let event = format!("{{\"cells\":{cells}}}");
        let (table, token, ck) = read_place(cells)?;
        let mut bytes = Vec::new();
        let ck = match ck {
            // The merge below reports text that is not base64.
            Some(text) => append_base64(&mut bytes, &text.0).map(|()| bytes),
            None => None,
        };
        let has_counters = self.counters.contains(table.0.as_ref());
        let mut columns = Columns::of_unknown_table(has_counters);
        let mut merge = Ingest {
            group: &mut Group::default(),
            columns: &mut columns,
            window: &Window::default(),
        };
        merge.add_event(&event, false)?;
        Ok(Found {
            table: table.0.into_owned(),
            token,
            ck,
            event,
        })
    }
}

#[derive(Default)]
struct Rows {
    tables: StringBuilder,
    tokens: Int64Builder,
    clusterings: BinaryBuilder,
    events: LargeStringBuilder,
    errors: StringBuilder,
}

impl Rows {
    fn add(&mut self, found: Result<Found>) {
        let (found, error) = match found {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(reason(error))),
        };
        self.errors.append_option(error);
        self.tables.append_option(found.as_ref().map(|f| &f.table));
        self.tokens.append_option(found.as_ref().map(|f| f.token));
        self.clusterings
            .append_option(found.as_ref().and_then(|f| f.ck.as_ref()));
        self.events.append_option(found.as_ref().map(|f| &f.event));
    }

    fn finish(mut self) -> Result<StructArray> {
        let columns: [(&str, ArrayRef); 5] = [
            ("table", Arc::new(self.tables.finish())),
            ("token", Arc::new(self.tokens.finish())),
            ("ck", Arc::new(self.clusterings.finish())),
            ("event", Arc::new(self.events.finish())),
            ("error", Arc::new(self.errors.finish())),
        ];
        nullable(columns, None)
    }
}

/// Omits the start of the value, because the caller reports the place of the record.
fn reason(error: MergeError) -> String {
    match error {
        MergeError::Event { reason, .. } => reason,
        MergeError::CounterContext { .. } => INVALID_CONTEXT.to_owned(),
        other => other.to_string(),
    }
}
