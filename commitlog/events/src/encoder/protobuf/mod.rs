//! Events as Protobuf (`docs/reference/protobuf.md`): the same members as in JSON, with raw bytes.
//!
//! A nested message begins with its length, so an event is built in a buffer and then copied.
//! Absent members take no bytes.

mod cells;
mod elements;

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{BoundKind, Cell, Expiry};
use commitlog_core::schema::Column;

use super::Scratch;
use super::visitor::{EventVisitor, Fields, RangeSide, SourceFields, Written};
use crate::avro::ConfluentHeaders;
use crate::counters::{CounterDelta, kind_name};
use crate::event_context::EventContext;
use crate::event_writer::Out;
use crate::format::Layout;
use crate::plan::TablePlan;
use crate::protobuf::value::ValueWriter;
use crate::protobuf::{MessageBuffer, ProtobufField, ProtobufPlan, WireType, field, tag};
use crate::range_bound::BoundValue;
use crate::static_fragment::StaticFragment;
use crate::value::text::write_text;
use crate::value::{Result, write_uuid};
use elements::write_elements;

/// The index of the outermost message, which is the first in its schema.
const FIRST_MESSAGE: &[u8] = &[0];
/// The field `set` with the value true.
const SET: &[u8] = &[(field::column::SET << 3) as u8, 1];

/// Writes one event as Protobuf.
pub(crate) struct ProtobufEncoder<'w> {
    scratch: &'w mut Scratch,
    context: &'w EventContext,
    plan: &'w TablePlan,
    protobuf: &'w ProtobufPlan,
    headers: ConfluentHeaders,
    /// `cluster` and `file` of `source`.
    source_middle: &'w StaticFragment<128>,
}

impl<'w> ProtobufEncoder<'w> {
    pub fn new(
        scratch: &'w mut Scratch,
        context: &'w EventContext,
        plan: &'w TablePlan,
        protobuf: &'w ProtobufPlan,
        headers: ConfluentHeaders,
        source_middle: &'w StaticFragment<128>,
    ) -> Self {
        Self {
            scratch,
            context,
            plan,
            protobuf,
            headers,
            source_middle,
        }
    }

    #[inline]
    fn buffer(&mut self) -> &mut MessageBuffer {
        &mut self.scratch.message
    }

    #[inline]
    fn values(&mut self) -> ValueWriter<'_> {
        ValueWriter {
            buffer: &mut self.scratch.message,
            scratch: &mut self.scratch.value,
            modes: self.context.format.modes,
        }
    }

    fn start(&mut self, header: [u8; 5]) {
        let buffer = self.buffer();
        buffer.clear();
        buffer.raw(&header);
        buffer.raw(FIRST_MESSAGE);
    }

    /// Opens the message of a column and writes its `value`.
    #[inline]
    fn live(&mut self, field: &ProtobufField, ty: &CqlType, value: &[u8]) -> Result<()> {
        self.buffer().open_behind(&field.tag);
        self.values().field(field::column::VALUE, ty, Some(value))?;
        Ok(())
    }

    /// Writes `set` and closes the message of a column.
    #[inline]
    fn end(&mut self) {
        let buffer = self.buffer();
        buffer.raw(SET);
        buffer.close();
    }

    fn shard(&mut self, delta: &CounterDelta) {
        let CounterDelta { shard, growth } = delta;
        let Scratch { message, value, .. } = &mut *self.scratch;
        value.clear();
        write_uuid(value, shard.counter_id);
        message.open(field::column::SHARDS);
        message.text(1, value);
        message.integer(2, shard.clock);
        message.integer(3, shard.count);
        if let Some(kind) = kind_name(shard.kind) {
            message.text(4, kind.as_bytes());
        }
        if let Some(growth) = growth {
            message.integer(5, growth.delta);
            message.integer(6, growth.since);
        }
        message.close();
    }
}

impl<'w> EventVisitor<'w> for ProtobufEncoder<'w> {
    type Field = ProtobufField;

    const CELLS_FIRST: bool = false;

    #[inline]
    fn plan(&self) -> &'w TablePlan {
        self.plan
    }

    #[inline]
    fn fields(&self) -> Fields<'w, ProtobufField> {
        Fields::new(&self.protobuf.table, &self.protobuf.fields)
    }

    #[inline]
    fn scratch(&mut self) -> &mut Scratch {
        self.scratch
    }

    fn key_start<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        self.start(self.headers.key);
        out
    }

    #[inline]
    fn key_value<'b>(
        &mut self,
        out: Out<'b>,
        _: usize,
        field: &ProtobufField,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b> {
        self.values().field(field.number, &column.cql_type, value)?;
        Ok(out)
    }

    #[inline]
    fn source<'b>(&mut self, out: Out<'b>, fields: &SourceFields) -> Out<'b> {
        use field::source;

        self.start(self.headers.value);
        let (context, middle) = (self.context, self.source_middle);
        let source_table = &self.protobuf.source_table;
        let buffer = &mut self.scratch.message;
        buffer.raw(context.protobuf_starts.fragment(fields.op).text());
        buffer.open(field::SOURCE);
        buffer.raw(&context.protobuf_source);
        if context.format.layout.is_current() {
            buffer.integer(source::TS_MS, fields.timestamp_us.div_euclid(1000));
            let is_snapshot: &[u8] = if fields.is_snapshot {
                b"true"
            } else {
                b"false"
            };
            buffer.text(source::SNAPSHOT, is_snapshot);
            buffer.text(source::DB, b"NULL");
            buffer.integer(source::TS_US, fields.timestamp_us);
            if let Some(ns) = fields.timestamp_us.checked_mul(1000) {
                buffer.integer(source::TS_NS, ns);
            }
        }
        buffer.raw(middle.text());
        buffer.integer(source::POS, fields.position);
        buffer.raw(source_table);
        if context.format.layout == Layout::DebeziumV1 {
            buffer.integer(source::IS_SNAPSHOT, fields.is_snapshot.into());
            buffer.integer(source::TS_MICRO, fields.timestamp_us);
        }
        buffer.close();
        buffer.open(field::AFTER);
        out
    }

    #[inline]
    fn key_column<'b>(
        &mut self,
        out: Out<'b>,
        _: usize,
        field: &ProtobufField,
        column: &Column,
        value: &[u8],
    ) -> Written<'b> {
        self.live(field, &column.cql_type, value)?;
        self.end();
        Ok(out)
    }

    #[inline]
    fn null_column<'b>(&mut self, out: Out<'b>, _: &ProtobufField) -> Out<'b> {
        out
    }

    #[inline]
    fn no_column<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        out
    }

    fn deleted_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &ProtobufField,
        timestamp_us: i64,
    ) -> Out<'b> {
        let buffer = self.buffer();
        buffer.open_behind(&field.tag);
        buffer.integer(field::column::DELETION_TS, timestamp_us);
        self.end();
        out
    }

    #[inline]
    fn live_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &ProtobufField,
        column: &Column,
        value: &[u8],
    ) -> Written<'b> {
        self.live(field, &column.cql_type, value)?;
        self.end();
        Ok(out)
    }

    #[inline]
    fn expiring_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &ProtobufField,
        column: &Column,
        value: &[u8],
        expiry: Expiry,
    ) -> Written<'b> {
        self.live(field, &column.cql_type, value)?;
        let expiry_us = expiry.local_deletion_time.0.saturating_mul(1_000_000);
        self.buffer().integer(field::column::DELETION_TS, expiry_us);
        self.end();
        Ok(out)
    }

    #[inline]
    fn tombstone_column<'b>(&mut self, out: Out<'b>, field: &ProtobufField) -> Out<'b> {
        self.buffer().open_behind(&field.tag);
        self.end();
        out
    }

    fn counter_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &ProtobufField,
        shards: &[CounterDelta],
    ) -> Out<'b> {
        self.buffer().open_behind(&field.tag);
        for delta in shards {
            self.shard(delta);
        }
        self.end();
        out
    }

    #[inline]
    fn elements_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &ProtobufField,
        column: &Column,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        self.buffer().open_behind(&field.tag);
        write_elements(&mut self.values(), &column.cql_type, cells)?;
        self.end();
        Ok(out)
    }

    #[inline]
    fn no_range<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        out
    }

    fn bound_start<'b>(
        &mut self,
        out: Out<'b>,
        side: RangeSide,
        kind: BoundKind,
        _: usize,
    ) -> Out<'b> {
        let number = match side {
            RangeSide::Start => field::after::RANGE_START,
            RangeSide::End => field::after::RANGE_END,
        };
        let buffer = self.buffer();
        buffer.open_behind(&tag(number, WireType::Length));
        buffer.text(1, kind.name().as_bytes());
        out
    }

    fn bound_value<'b>(&mut self, out: Out<'b>, _: usize, value: &BoundValue<'_>) -> Written<'b> {
        let Scratch {
            message,
            value: text,
            ..
        } = &mut *self.scratch;
        message.open(2);
        message.text(1, value.name.as_bytes());
        if let Some(bytes) = value.bytes {
            text.clear();
            write_text(text, value.cql_type, bytes)?;
            message.text(2, String::from_utf8_lossy(text).as_bytes());
        }
        message.text(3, value.class.as_bytes());
        message.close();
        Ok(out)
    }
}
