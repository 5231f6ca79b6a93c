//! Evaluates the rows that `SELECT *` shows at a second.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{FieldRef, Fields};

use crate::arena::Span;
use crate::content::Content;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::output::{RawRows, TypedRows, row_id_field};
use crate::partition::RowWrite;
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
            partition_us: None,
            statics: Content::default(),
            content: Content::default(),
            row: MergedRow::default(),
            sweep: RangeSweep::default(),
            has_rows: false,
        }
    }

    fn emit(&mut self, view: View<'_>, ck: Option<&[u8]>) -> Result<()> {
        let ckv = self.row.ckv.filter(|_| ck.is_some());
        let ckv = ckv.map(|ckv| view.store.arena.get(ckv));
        let contents = (&self.content, &self.statics);
        match &mut self.output {
            Output::Raw(rows) => rows.append(view, (ck, ckv), contents),
            Output::Typed(ids, rows) => {
                ids.append_value(row_id(&view.partition.pk, ck));
                rows.append(view, ckv, contents)
            }
        }
    }
}

impl Evaluation for VisibleRows {
    fn fields(&self) -> Result<Fields> {
        match &self.output {
            Output::Raw(_) => Ok(RawRows::default().take()?.fields().clone()),
            Output::Typed(_, rows) => Ok(with_row_id(&rows.fields())),
        }
    }

    fn begin(&mut self, view: View<'_>) -> Result<()> {
        self.partition_us = view.partition.deleted_to_us().max(self.truncated_us);
        self.has_rows = false;
        self.sweep.clear();
        self.row.clear();
        self.row.apply(&view.partition.statics, view.store);
        self.statics
            .evaluate(&self.row, self.partition_us, self.now_s, view);
        Ok(())
    }

    fn evaluate(&mut self, view: View<'_>, ck: Span, writes: &[RowWrite]) -> Result<()> {
        let arena = &view.store.arena;
        self.row.clear();
        self.row.apply(writes, view.store);
        let ck = arena.get(ck);
        let range_us = self.sweep.deleted_to_us(&view.partition.ranges, ck, arena);
        let row_us = self.row.deletion.map(|deletion| deletion.ts_us);
        let deleted_to_us = self.partition_us.max(range_us).max(row_us);
        self.content
            .evaluate(&self.row, deleted_to_us, self.now_s, view);
        if self.content.is_visible() {
            self.has_rows = true;
            self.emit(view, Some(ck))?;
        }
        Ok(())
    }

    fn end(&mut self, view: View<'_>) -> Result<()> {
        if !self.has_rows && !self.statics.cells.is_empty() {
            self.content.clear();
            self.emit(view, None)?;
        }
        Ok(())
    }

    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        match &mut self.output {
            Output::Raw(rows) if rows.is_full() || (is_last && !rows.is_empty()) => {
                rows.take().map(Some)
            }
            Output::Typed(ids, rows) if rows.is_full() || (is_last && !rows.is_empty()) => {
                let typed = rows.take()?;
                let id: ArrayRef = Arc::new(ids.finish());
                let arrays = [id].into_iter().chain(typed.columns().iter().cloned());
                let fields = with_row_id(typed.fields());
                Ok(Some(StructArray::try_new(fields, arrays.collect(), None)?))
            }
            _ => Ok(None),
        }
    }
}

fn with_row_id(fields: &Fields) -> Fields {
    let id: FieldRef = Arc::new(row_id_field());
    [id].into_iter().chain(fields.iter().cloned()).collect()
}
