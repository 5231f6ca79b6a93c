//! Events as Avro (`docs/reference/avro.md`): the same members as in JSON, with raw bytes.

mod cells;
mod elements;

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{BoundKind, Cell, Expiry};
use commitlog_core::schema::Column;

use super::Scratch;
use super::visitor::{EventVisitor, Fields, RangeSide, SourceFields, Written};
use crate::avro::time_varint::TimeVarint;
use crate::avro::value::{END, NULL, THERE, ValueWriter, block, string};
use crate::avro::{AfterField, AvroPlan, ConfluentHeaders};
use crate::counters::{CounterDelta, kind_name};
use crate::event_context::EventContext;
use crate::event_writer::Out;
use crate::format::Layout;
use crate::plan::TablePlan;
use crate::range_bound::BoundValue;
use crate::static_fragment::StaticFragment;
use crate::value::text::write_text;
use crate::value::write_uuid;
use elements::{END_LIVE, write_elements};

/// A column with a tombstone: `value` null, `deletion_ts` null, `set` true.
const TOMBSTONE: &[u8; 4] = &[2, 0, 0, 1];
/// `snapshot`, `db`, `sequence`, and the union branch of `ts_us`.
const OF_LOG: &[u8; 14] = b"\x00\x0afalse\x08NULL\x00\x02";
const OF_SNAPSHOT: &[u8; 13] = b"\x00\x08true\x08NULL\x00\x02";

/// Writes one event as Avro.
pub(crate) struct AvroEncoder<'w> {
    scratch: &'w mut Scratch,
    context: &'w EventContext,
    plan: &'w TablePlan,
    avro: &'w AvroPlan,
    headers: ConfluentHeaders,
    /// `cluster` and `file` of `source`.
    source_middle: &'w StaticFragment<128>,
    /// The previous time, because an event repeats its times.
    time: TimeVarint,
}

impl<'w> AvroEncoder<'w> {
    pub fn new(
        scratch: &'w mut Scratch,
        context: &'w EventContext,
        plan: &'w TablePlan,
        avro: &'w AvroPlan,
        headers: ConfluentHeaders,
        source_middle: &'w StaticFragment<128>,
    ) -> Self {
        Self {
            scratch,
            context,
            plan,
            avro,
            headers,
            source_middle,
            time: TimeVarint::from_us(0),
        }
    }

    #[inline]
    fn values(&mut self) -> ValueWriter<'_> {
        ValueWriter {
            scratch: &mut self.scratch.value,
            modes: self.context.format.modes,
        }
    }

    #[inline]
    fn live<'b>(&mut self, mut out: Out<'b>, ty: &CqlType, value: &[u8]) -> Written<'b> {
        out.literal(THERE);
        out = self.values().nullable(out, ty, Some(value))?;
        out.literal(END_LIVE);
        Ok(out)
    }

    fn shard<'b>(&mut self, mut out: Out<'b>, delta: &CounterDelta) -> Out<'b> {
        let CounterDelta { shard, growth } = delta;
        let id = &mut self.scratch.value;
        id.clear();
        write_uuid(id, shard.counter_id);
        out.bytes(id);
        out.varint(shard.clock);
        out.varint(shard.count);
        match kind_name(shard.kind) {
            Some(kind) => {
                out.literal(THERE);
                out.bytes(kind.as_bytes());
            }
            None => out.literal(NULL),
        }
        match growth {
            Some(growth) => {
                out.literal(THERE);
                out.varint(growth.delta);
                out.literal(THERE);
                out.varint(growth.since);
            }
            None => out.literal(&[0, 0]),
        }
        out
    }
}

impl<'w> EventVisitor<'w> for AvroEncoder<'w> {
    type Field = AfterField;

    const CELLS_FIRST: bool = true;

    #[inline]
    fn plan(&self) -> &'w TablePlan {
        self.plan
    }

    #[inline]
    fn fields(&self) -> Fields<'w, AfterField> {
        Fields::new(&self.avro.table, &self.avro.fields)
    }

    #[inline]
    fn scratch(&mut self) -> &mut Scratch {
        self.scratch
    }

    fn key_start<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(&self.headers.key);
        out
    }

    #[inline]
    fn key_value<'b>(
        &mut self,
        out: Out<'b>,
        _: usize,
        _: &AfterField,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b> {
        self.values().nullable(out, &column.cql_type, value)
    }

    #[inline]
    fn source<'b>(&mut self, mut out: Out<'b>, fields: &SourceFields) -> Out<'b> {
        self.time = TimeVarint::from_us(fields.timestamp_us);
        out.literal(&self.headers.value);
        out.fragment(self.context.avro_starts.fragment(fields.op));
        if self.context.format.layout == Layout::DebeziumV1 {
            out.fragment(self.source_middle);
            out.varint(fields.position);
            out.literal(&[u8::from(fields.is_snapshot)]);
            out.fragment(&self.avro.source_table);
            return self.time.write(out, fields.timestamp_us);
        }
        out.varint(fields.timestamp_us.div_euclid(1000));
        if fields.is_snapshot {
            out.literal(OF_SNAPSHOT);
        } else {
            out.literal(OF_LOG);
        }
        out = self.time.write(out, fields.timestamp_us);
        match fields.timestamp_us.checked_mul(1000) {
            Some(ns) => {
                out.literal(THERE);
                out.varint(ns);
            }
            None => out.literal(NULL),
        }
        out.fragment(self.source_middle);
        out.varint(fields.position);
        out.fragment(&self.avro.source_table);
        out
    }

    #[inline]
    fn key_column<'b>(
        &mut self,
        out: Out<'b>,
        _: usize,
        _: &AfterField,
        column: &Column,
        value: &[u8],
    ) -> Written<'b> {
        self.live(out, &column.cql_type, value)
    }

    #[inline]
    fn null_column<'b>(&mut self, mut out: Out<'b>, _: &AfterField) -> Out<'b> {
        out.literal(NULL);
        out
    }

    #[inline]
    fn no_column<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(NULL);
        out
    }

    #[inline(never)]
    fn deleted_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &AfterField,
        timestamp_us: i64,
    ) -> Out<'b> {
        out.literal(&[2, 0, 2]);
        out.varint(timestamp_us);
        out.literal(&[1]);
        without_more(out, field)
    }

    #[inline]
    fn live_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &AfterField,
        column: &Column,
        value: &[u8],
    ) -> Written<'b> {
        Ok(without_more(
            self.live(out, &column.cql_type, value)?,
            field,
        ))
    }

    #[inline]
    fn expiring_column<'b>(
        &mut self,
        mut out: Out<'b>,
        field: &AfterField,
        column: &Column,
        value: &[u8],
        expiry: Expiry,
    ) -> Written<'b> {
        out.literal(THERE);
        out = (self.values()).nullable(out, &column.cql_type, Some(value))?;
        out.literal(THERE);
        out.varint(expiry.local_deletion_time.0.saturating_mul(1_000_000));
        out.literal(&[1]);
        Ok(without_more(out, field))
    }

    #[inline]
    fn tombstone_column<'b>(&mut self, mut out: Out<'b>, field: &AfterField) -> Out<'b> {
        out.literal(TOMBSTONE);
        without_more(out, field)
    }

    fn counter_column<'b>(
        &mut self,
        mut out: Out<'b>,
        _: &AfterField,
        shards: &[CounterDelta],
    ) -> Out<'b> {
        out.literal(TOMBSTONE);
        out.literal(THERE);
        out = block(out, shards.len() as i64);
        for delta in shards {
            out = self.shard(out, delta);
        }
        out.literal(END);
        out
    }

    #[inline]
    fn elements_column<'b>(
        &mut self,
        out: Out<'b>,
        _: &AfterField,
        column: &Column,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        write_elements(&mut self.values(), out, &column.cql_type, cells)
    }

    #[inline]
    fn no_range<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(&[0, 0]);
        out
    }

    fn bound_start<'b>(
        &mut self,
        mut out: Out<'b>,
        _: RangeSide,
        kind: BoundKind,
        values: usize,
    ) -> Out<'b> {
        out.literal(THERE);
        out.bytes(kind.name().as_bytes());
        block(out, values as i64)
    }

    fn bound_value<'b>(
        &mut self,
        mut out: Out<'b>,
        _: usize,
        value: &BoundValue<'_>,
    ) -> Written<'b> {
        out.bytes(value.name.as_bytes());
        match value.bytes {
            Some(bytes) => {
                let text = &mut self.scratch.value;
                text.clear();
                write_text(text, value.cql_type, bytes)?;
                out.literal(THERE);
                out = string(out, text);
            }
            None => out.literal(NULL),
        }
        out.bytes(value.class.as_bytes());
        Ok(out)
    }
}

/// Writes null for `removed` or `shards`, if the column has such a member.
#[inline]
fn without_more<'b>(mut out: Out<'b>, field: &AfterField) -> Out<'b> {
    if field.has_more {
        out.literal(NULL);
    }
    out
}
