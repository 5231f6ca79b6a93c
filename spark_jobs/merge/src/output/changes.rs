//! Builds batches of row changes, with the typed row before and after each change.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int64Builder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, StructArray, new_null_array,
};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, Fields};

use super::TypedRows;
use super::shown::Shown;
use super::typed::row_id_field;
use crate::error::Result;
use crate::evaluation::View;
use crate::row_id::row_id;

/// Why and when a row changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Write { ts_us: i64 },
    Expiry { ts_us: i64 },
}

/// One change of a row.
#[derive(Clone, Copy)]
pub struct Change<'c> {
    pub before: Option<Shown<'c>>,
    pub after: Option<Shown<'c>>,
    pub cause: Cause,
}

/// A row that changed, and its context.
#[derive(Clone, Copy)]
pub struct ChangedRow<'c> {
    pub view: View<'c>,
    pub ck: Option<&'c [u8]>,
    pub existed: bool,
}

/// Builders of the output.
pub struct ChangeRows {
    ids: BinaryBuilder,
    tokens: Int64Builder,
    clusterings: BinaryBuilder,
    sequence: Vec<i32>,
    are_last: Vec<bool>,
    existed: BooleanBuilder,
    operations: StringBuilder,
    causes: StringBuilder,
    times: Int64Builder,
    next_expiries: Vec<Option<i64>>,
    before: Side,
    after: Side,
    /// The number of changes of the current row.
    count: i32,
    full: VecDeque<StructArray>,
}

/// The rows before or after the changes.
struct Side {
    rows: TypedRows,
    nulls: NullBufferBuilder,
}

impl ChangeRows {
    pub fn new(before: TypedRows, after: TypedRows) -> Self {
        let side = |rows| Side {
            rows,
            nulls: NullBufferBuilder::new(0),
        };
        Self {
            ids: BinaryBuilder::new(),
            tokens: Int64Builder::new(),
            clusterings: BinaryBuilder::new(),
            sequence: Vec::new(),
            are_last: Vec::new(),
            existed: BooleanBuilder::new(),
            operations: StringBuilder::new(),
            causes: StringBuilder::new(),
            times: Int64Builder::new(),
            next_expiries: Vec::new(),
            before: side(before),
            after: side(after),
            count: 0,
            full: VecDeque::new(),
        }
    }

    pub fn fields(&self) -> Fields {
        let row = |name, side: &Side| Field::new(name, DataType::Struct(side.rows.fields()), true);
        Fields::from(vec![
            row_id_field(),
            Field::new("token", DataType::Int64, false),
            Field::new("ck", DataType::Binary, true),
            Field::new("seq", DataType::Int32, false),
            Field::new("is_last", DataType::Boolean, false),
            Field::new("existed", DataType::Boolean, false),
            Field::new("op", DataType::Utf8, true),
            Field::new("cause", DataType::Utf8, true),
            Field::new("ts_us", DataType::Int64, true),
            row("before", &self.before),
            row("after", &self.after),
            Field::new("next_expiry_s", DataType::Int64, true),
            Field::new("rejected", DataType::Utf8, true),
        ])
    }

    /// Adds a change of the current row.
    pub fn push(&mut self, row: ChangedRow<'_>, change: Change<'_>) -> Result<()> {
        let operation = operation(change.before.is_some(), change.after.is_some());
        let (cause, ts_us) = match change.cause {
            Cause::Write { ts_us } => ("write", ts_us),
            Cause::Expiry { ts_us } => ("expiry", ts_us),
        };
        self.start_row(row)?;
        self.operations.append_option(operation);
        self.causes.append_value(cause);
        self.times.append_value(ts_us);
        self.before.append(row, change.before)?;
        self.after.append(row, change.after)
    }

    /// Ends the current row. A new expiry is reported even without a change.
    pub fn end_row(
        &mut self,
        row: ChangedRow<'_>,
        first_expiry_s: Option<i64>,
        next_expiry_s: Option<i64>,
    ) -> Result<()> {
        let is_news = next_expiry_s.is_some() && next_expiry_s != first_expiry_s;
        if self.count == 0 && is_news {
            self.start_row(row)?;
            self.operations.append_null();
            self.causes.append_null();
            self.times.append_null();
            self.before.append(row, None)?;
            self.after.append(row, None)?;
        }
        if self.count > 0 {
            if let Some(is_last) = self.are_last.last_mut() {
                *is_last = true;
            }
            if let Some(last) = self.next_expiries.last_mut() {
                *last = next_expiry_s;
            }
        }
        self.count = 0;
        Ok(())
    }

    /// Takes a full batch, or with `is_last` the remaining rows.
    pub fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        if is_last || self.is_full() {
            self.flush()?;
        }
        Ok(self.full.pop_front())
    }

    fn is_full(&self) -> bool {
        self.before.rows.is_full() || self.after.rows.is_full()
    }

    fn start_row(&mut self, row: ChangedRow<'_>) -> Result<()> {
        if self.is_full() {
            self.flush()?;
        }
        self.ids
            .append_value(row_id(&row.view.partition.pk, row.ck));
        self.tokens.append_value(row.view.token);
        self.clusterings.append_option(row.ck);
        self.sequence.push(self.count);
        self.count = self.count.saturating_add(1);
        self.are_last.push(false);
        self.existed.append_value(row.existed);
        self.next_expiries.push(None);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.sequence.is_empty() {
            return Ok(());
        }
        let fields = self.fields();
        let sequence = std::mem::take(&mut self.sequence);
        let are_last = std::mem::take(&mut self.are_last);
        let next_expiries = std::mem::take(&mut self.next_expiries);
        let (before, before_misfits) = self.before.finish()?;
        let (after, after_misfits) = self.after.finish()?;
        let mut existed = self.existed.finish();
        let mut operations = self.operations.finish();
        let mut rejected = new_null_array(&DataType::Utf8, sequence.len());
        if !before_misfits.is_empty() || !after_misfits.is_empty() {
            existed = (0..existed.len())
                .map(|row| Some(existed.value(row) && !before_misfits.contains_key(&row)))
                .collect();
            operations = (0..operations.len())
                .map(|row| {
                    operations.is_valid(row).then_some(())?;
                    operation(before.is_valid(row), after.is_valid(row))
                })
                .collect();
            let reasons = (0..sequence.len()).map(|row| after_misfits.get(&row));
            rejected = Arc::new(reasons.collect::<StringArray>());
        }
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.ids.finish()),
            Arc::new(self.tokens.finish()),
            Arc::new(self.clusterings.finish()),
            Arc::new(Int32Array::from(sequence)),
            Arc::new(BooleanArray::from(are_last)),
            Arc::new(existed),
            Arc::new(operations),
            Arc::new(self.causes.finish()),
            Arc::new(self.times.finish()),
            before,
            after,
            Arc::new(Int64Array::from(next_expiries)),
            rejected,
        ];
        self.full
            .push_back(StructArray::try_new(fields, arrays, None)?);
        Ok(())
    }
}

/// The operation between two states of a row, each visible or not; `None` if there is no change.
fn operation(before: bool, after: bool) -> Option<&'static str> {
    match (before, after) {
        (false, true) => Some("c"),
        (true, false) => Some("d"),
        (true, true) => Some("u"),
        (false, false) => None,
    }
}

impl Side {
    fn append(&mut self, row: ChangedRow<'_>, shown: Option<Shown<'_>>) -> Result<()> {
        self.nulls.append(shown.is_some());
        match shown {
            Some(shown) => {
                let ckv = shown.ckv.map(|ckv| row.view.store.arena.get(ckv));
                self.rows.append(row.view, ckv, (shown.row, shown.statics))
            }
            None => self.rows.append_null(),
        }
    }

    /// Returns the rows, and the reasons why some rows have no typed form.
    fn finish(&mut self) -> Result<(ArrayRef, BTreeMap<usize, String>)> {
        let (rows, misfits) = self.rows.take_fitting()?;
        let (fields, arrays, _) = rows.into_parts();
        let mut nulls = self.nulls.finish();
        if !misfits.is_empty() {
            let is_valid = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let length = arrays.first().map_or(0, Array::len);
            nulls = Some(
                (0..length)
                    .map(|row| is_valid(row) && !misfits.contains_key(&row))
                    .collect(),
            );
        }
        let array = StructArray::try_new(fields, arrays, nulls)?;
        Ok((Arc::new(array), misfits))
    }
}
