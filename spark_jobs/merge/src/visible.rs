//! Evaluates the rows that `SELECT *` shows at a second.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{FieldRef, Fields};

use crate::content::Content;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::output::{RawRows, TypedRows, row_id_field};
use crate::ranges::RangeSweep;
use crate::row::MergedRow;
use crate::row_id::row_id;

/// The format of the rows.
pub enum Output {
    Raw(Box<RawRows>),
    Typed(BinaryBuilder, Box<TypedRows>),
}

/// Evaluates the visible rows.
pub struct VisibleRows {
    now_s: i64,
    truncated_us: Option<i64>,
    output: Output,
    place: usize,
    partition_us: Option<i64>,
    statics: Content,
    content: Content,
    row: MergedRow,
    sweep: RangeSweep,
    has_rows: bool,
}

impl VisibleRows {
    pub fn new(now_s: i64, truncated_us: Option<i64>, output: Output) -> Self {
        Self {
            now_s,
            truncated_us,
            output,
            place: 0,
            partition_us: None,
            statics: Content::default(),
            content: Content::default(),
            row: MergedRow::default(),
            sweep: RangeSweep::default(),
            has_rows: false,
        }
    }

    fn emit(&mut self, view: View<'_>, ck: Option<&[u8]>) -> Result<()> {
        let pk = &view.partition.pk;
        let ckv = self.row.ckv.filter(|_| ck.is_some());
        let ckv = ckv.map(|ckv| view.store.arena.get(ckv));
        let contents = (&self.content, &self.statics);
        match &mut self.output {
            Output::Raw(rows) => rows.append(
                (view.token, pk),
                (ck, ckv),
                contents,
                view.store,
                view.columns,
            ),
            Output::Typed(ids, rows) => {
                ids.append_value(row_id(pk, ck));
                rows.append(pk, ckv, contents, view.store)
            }
        }
    }
}

impl Evaluation for VisibleRows {
    fn fields(&self) -> Fields {
        match &self.output {
            Output::Raw(_) => RawRows::fields(),
            Output::Typed(_, rows) => {
                let id: FieldRef = Arc::new(row_id_field());
                [id].into_iter()
                    .chain(rows.fields().iter().cloned())
                    .collect()
            }
        }
    }

    fn begin(&mut self, view: View<'_>) -> Result<()> {
        let deletions = view.partition.deletions.iter();
        self.partition_us = deletions.map(|(deletion, _)| deletion.ts_us).max();
        self.partition_us = self.partition_us.max(self.truncated_us);
        self.place = 0;
        self.has_rows = false;
        self.sweep.clear();
        self.row.clear();
        self.row.apply(&view.partition.statics, view.store);
        self.statics.evaluate(
            &self.row,
            self.partition_us,
            self.now_s,
            view.store,
            view.columns,
        );
        Ok(())
    }

    fn advance(&mut self, view: View<'_>) -> Result<bool> {
        let (partition, arena) = (view.partition, &view.store.arena);
        let end = partition.row_end(self.place, arena);
        let Some(writes) = partition
            .rows
            .get(self.place..end)
            .filter(|w| !w.is_empty())
        else {
            if !self.has_rows && !self.statics.cells.is_empty() {
                self.content.clear();
                self.emit(view, None)?;
            }
            return Ok(false);
        };
        self.place = end;
        self.row.clear();
        self.row.apply(writes, view.store);
        let ck = arena.get(writes.first().map(|write| write.ck).unwrap_or_default());
        let range_us = self.sweep.deleted_to_us(&partition.ranges, ck, arena);
        let row_us = self.row.deletion.map(|deletion| deletion.ts_us);
        let deleted_to_us = self.partition_us.max(range_us).max(row_us);
        self.content.evaluate(
            &self.row,
            deleted_to_us,
            self.now_s,
            view.store,
            view.columns,
        );
        if self.content.is_visible() {
            self.has_rows = true;
            self.emit(view, Some(ck))?;
        }
        Ok(true)
    }

    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        let fields = self.fields();
        match &mut self.output {
            Output::Raw(rows) if rows.is_full() || is_last => rows.take(),
            Output::Typed(ids, rows) if rows.is_full() || (is_last && !rows.is_empty()) => {
                let typed = rows.take()?;
                let id: ArrayRef = Arc::new(ids.finish());
                let arrays = [id].into_iter().chain(typed.columns().iter().cloned());
                Ok(Some(StructArray::try_new(fields, arrays.collect(), None)?))
            }
            _ => Ok(None),
        }
    }
}
