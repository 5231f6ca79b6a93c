//! Events as JSON (`docs/reference/event-format.md`) in Debezium's envelope: `ts_ms`, `op`,
//! `source`, `after`, and `cells` if it is enabled.

mod cells;

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{BoundKind, Cell, Expiry};
use commitlog_core::schema::Column;

use super::Scratch;
use super::visitor::{EventVisitor, Fields, RangeSide, SourceFields, Written};
use crate::counters::{CounterDelta, write_shards};
use crate::event_context::EventContext;
use crate::event_writer::Out;
use crate::format::Layout;
use crate::plan::{Member, TablePlan};
use crate::range_bound::{BoundValue, write_bound_value};
use crate::static_fragment::StaticFragment;
use crate::time_text::TimeText;
use crate::value::json::{ElementCell, is_plain_text, write_json, write_multi_cell, write_removed};
use crate::value::{Result, ValueModes};

/// The end of a live value.
const END_LIVE: &[u8; 32] = b",\"deletion_ts\":null,\"set\":true},";

/// Writes one event as JSON.
pub(crate) struct JsonEncoder<'w> {
    scratch: &'w mut Scratch,
    context: &'w EventContext,
    plan: &'w TablePlan,
    modes: ValueModes,
    /// [`EventContext::source_middle`] of this plan.
    source_middle: &'w StaticFragment<128>,
    /// The message key, from which the value copies its key columns.
    key: &'w [u8],
    /// Free bytes before the key was written.
    whole: usize,
    /// The previous time, because an event repeats its times.
    time: TimeText,
    /// Free bytes before the value was written.
    value_room: usize,
    /// Length of the value up to the comma after the last column, if no range follows.
    comma: Option<usize>,
}

impl<'w> JsonEncoder<'w> {
    pub fn new(
        scratch: &'w mut Scratch,
        context: &'w EventContext,
        plan: &'w TablePlan,
        modes: ValueModes,
        source_middle: &'w StaticFragment<128>,
    ) -> Self {
        Self {
            scratch,
            context,
            plan,
            modes,
            source_middle,
            key: &[],
            whole: 0,
            time: TimeText::from_us(0),
            value_room: 0,
            comma: None,
        }
    }

    /// Removes the comma after the last column if no range follows, as in layout 1.x. The value
    /// takes the first `length` bytes of `value`; returns its new length.
    #[inline]
    pub fn without_comma(&self, value: &mut [u8], length: usize) -> usize {
        match self.comma {
            Some(end) if end > 0 && end <= length && length <= value.len() => {
                value.copy_within(end..length, end - 1);
                length - 1
            }
            _ => length,
        }
    }

    /// Writes `source` as in Debezium 1.x, and the start of `after`.
    #[inline(never)]
    fn source_of_v1<'b>(&mut self, mut out: Out<'b>, fields: &SourceFields) -> Out<'b> {
        let time = TimeText::from_us(fields.timestamp_us);
        out.fragment(self.context.starts.fragment(fields.op));
        out.fragment(self.source_middle);
        out.number(fields.position);
        if fields.is_snapshot {
            out.literal(b",\"snapshot\":true");
        } else {
            out.literal(b",\"snapshot\":false");
        }
        out.fragment(&self.plan.source_table);
        out.time_us(&time);
        out.literal(b"},\"after\":{");
        self.time = time;
        out
    }

    /// Sets the key that this encoder has just written; the value copies its key columns from it.
    #[inline]
    pub fn set_key(&mut self, key: &'w [u8]) {
        self.key = key;
    }

    #[inline(never)]
    fn json<'b>(&mut self, mut out: Out<'b>, cql_type: &CqlType, bytes: &[u8]) -> Written<'b> {
        let number = match cql_type {
            CqlType::Int => bytes.try_into().ok().map(i32::from_be_bytes).map(i64::from),
            CqlType::BigInt | CqlType::Timestamp | CqlType::Time => {
                bytes.try_into().ok().map(i64::from_be_bytes)
            }
            _ => None,
        };
        if let Some(number) = number {
            out.number(number);
        } else if matches!(cql_type, CqlType::Ascii | CqlType::Text) && is_plain_text(bytes) {
            out.literal(b"\"");
            out.slice(bytes);
            out.literal(b"\"");
        } else {
            let value = &mut self.scratch.value;
            value.clear();
            write_json(value, cql_type, bytes, &self.modes)?;
            out.slice(value);
        }
        Ok(out)
    }
}

impl<'w> EventVisitor<'w> for JsonEncoder<'w> {
    type Field = Member;

    const CELLS_FIRST: bool = false;

    #[inline]
    fn plan(&self) -> &'w TablePlan {
        self.plan
    }

    #[inline]
    fn fields(&self) -> Fields<'w, Member> {
        Fields {
            partition_key: &self.plan.partition_key_members,
            clustering: &self.plan.clustering_members,
            columns: &self.plan.column_members,
            table: &self.plan.shown,
        }
    }

    #[inline]
    fn scratch(&mut self) -> &mut Scratch {
        self.scratch
    }

    #[inline]
    fn key_start<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        self.scratch.key_values.clear();
        self.whole = out.room();
        out
    }

    #[inline]
    fn key_value<'b>(
        &mut self,
        mut out: Out<'b>,
        index: usize,
        field: &Member,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b> {
        out.literal(&[if index == 0 { b'{' } else { b',' }]);
        out.fragment(&field.name);
        let start = self.whole.saturating_sub(out.room());
        match value {
            Some(value) => out = self.json(out, &column.cql_type, value)?,
            None => out.literal(b"null"),
        }
        let end = self.whole.saturating_sub(out.room());
        self.scratch.key_values.push((start, end));
        Ok(out)
    }

    #[inline]
    fn source<'b>(&mut self, mut out: Out<'b>, fields: &SourceFields) -> Out<'b> {
        self.value_room = out.room();
        self.comma = None;
        if self.context.format.layout == Layout::DebeziumV1 {
            return self.source_of_v1(out, fields);
        }
        let time = TimeText::from_us(fields.timestamp_us);
        out.fragment(self.context.starts.fragment(fields.op));
        out.time_ms(&time);
        if fields.is_snapshot {
            out.literal(b",\"snapshot\":\"true\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":");
        } else {
            out.literal(b",\"snapshot\":\"false\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":");
        }
        out.time_us(&time);
        out.literal(b",\"ts_ns\":");
        out.time_ns(&time);
        out.fragment(self.source_middle);
        out.number(fields.position);
        out.fragment(&self.plan.source_table);
        self.time = time;
        out
    }

    /// Copies the value from the key.
    #[inline]
    fn key_column<'b>(
        &mut self,
        mut out: Out<'b>,
        index: usize,
        field: &Member,
        _: &Column,
        _: &[u8],
    ) -> Written<'b> {
        out.fragment(&field.value);
        if let Some((start, end)) = self.scratch.key_values.get(index) {
            out.slice(self.key.get(*start..*end).unwrap_or_default());
        }
        out.literal(END_LIVE);
        Ok(out)
    }

    #[inline]
    fn null_column<'b>(&mut self, mut out: Out<'b>, field: &Member) -> Out<'b> {
        out.fragment(&field.null);
        out
    }

    #[inline]
    fn no_column<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        out
    }

    #[inline(never)]
    fn deleted_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &Member,
        timestamp_us: i64,
    ) -> Out<'b> {
        out.fragment(&field.name);
        out.literal(b"{\"value\":null,\"deletion_ts\":");
        out.number(timestamp_us);
        out.literal(b",\"set\":true},");
        out
    }

    #[inline]
    fn live_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &Member,
        column: &Column,
        value: &[u8],
    ) -> Written<'b> {
        out.fragment(&field.value);
        out = self.json(out, &column.cql_type, value)?;
        out.literal(END_LIVE);
        Ok(out)
    }

    #[inline]
    fn expiring_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &Member,
        column: &Column,
        value: &[u8],
        expiry: Expiry,
    ) -> Written<'b> {
        out.fragment(&field.value);
        out = self.json(out, &column.cql_type, value)?;
        out.literal(b",\"deletion_ts\":");
        let us = i128::from(expiry.local_deletion_time.0) * 1_000_000;
        out.slice(itoa::Buffer::new().format(us).as_bytes());
        out.literal(b",\"set\":true},");
        Ok(out)
    }

    #[inline]
    fn tombstone_column<'b>(&mut self, mut out: Out<'b>, field: &Member) -> Out<'b> {
        out.fragment(&field.value);
        out.literal(b"null");
        out.literal(END_LIVE);
        out
    }

    #[inline]
    fn counter_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &Member,
        shards: &[CounterDelta],
    ) -> Out<'b> {
        let value = &mut self.scratch.value;
        value.clear();
        write_shards(value, shards);
        out.fragment(&field.name);
        out.slice(value);
        out.literal(b",");
        out
    }

    #[inline]
    fn elements_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &Member,
        column: &Column,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        out.fragment(&field.value);
        let value = &mut self.scratch.value;
        value.clear();
        write_elements(value, &column.cql_type, cells, self.modes)?;
        out.slice(value);
        Ok(out)
    }

    #[inline]
    fn no_range<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        if self.context.format.layout == Layout::DebeziumV1 {
            self.comma = Some(self.value_room.saturating_sub(out.room()));
            return out;
        }
        out.literal(b"\"_range_start\":null,\"_range_end\":null");
        out
    }

    fn bound_start<'b>(
        &mut self,
        mut out: Out<'b>,
        side: RangeSide,
        kind: BoundKind,
        _: usize,
    ) -> Out<'b> {
        out.slice(match side {
            RangeSide::Start => b"\"_range_start\":{\"method\":\"",
            RangeSide::End => b",\"_range_end\":{\"method\":\"",
        });
        out.slice(kind.name().as_bytes());
        out.literal(b"\",\"values\":[");
        out
    }

    fn bound_value<'b>(
        &mut self,
        mut out: Out<'b>,
        index: usize,
        value: &BoundValue<'_>,
    ) -> Written<'b> {
        if index > 0 {
            out.literal(b",");
        }
        let json = &mut self.scratch.value;
        json.clear();
        write_bound_value(json, value)?;
        out.slice(json);
        Ok(out)
    }
}

/// Writes the elements that the statement wrote, not the whole collection, up to the end of the
/// column. `removed` lists the elements that it deleted from a list or set.
#[inline(never)]
fn write_elements(
    out: &mut Vec<u8>,
    cql_type: &CqlType,
    cells: &[Cell<'_>],
    modes: ValueModes,
) -> Result<()> {
    let elements = || cells.iter().map(ElementCell::from_cell);
    // A completely deleted user type has no fields left.
    let removed = if cells.is_empty() && matches!(cql_type, CqlType::Udt(_)) {
        out.extend_from_slice(b"null");
        0
    } else {
        write_multi_cell(out, cql_type, elements(), &modes)?
    };
    out.extend_from_slice(b",\"deletion_ts\":null,\"set\":true");
    if removed > 0 {
        out.extend_from_slice(b",\"removed\":");
        write_removed(out, cql_type, elements(), &modes)?;
    }
    out.extend_from_slice(b"},");
    Ok(())
}
