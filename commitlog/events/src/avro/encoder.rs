//! Writes the key and the value of an event as Avro.

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{Cell, CellState, Row};
use commitlog_core::schema::{Column, ColumnKind};

use super::cells::CellsWriter;
use super::plan::{AfterField, AvroPlan, ConfluentHeaders};
use super::time_varint::TimeVarint;
use super::value::{END, NULL, THERE, ValueWriter, Written, block};
use crate::counters::{ShardNews, kind_name};
use crate::encoder::{NO_POSITION, Scratch, clustering_of};
use crate::event::{Bound, Content};
use crate::event_context::EventContext;
use crate::event_text::EventText;
use crate::fixed_text::FixedText;
use crate::partition::Partition;
use crate::plan::TablePlan;
use crate::range_bound::bound_values;
use crate::row_cells::simple_cells;
use crate::value::json::ElementCell;
use crate::value::text::write_text;
use crate::value::{ValueError, fixed, write_uuid};

/// `deletion_ts` null and `set` true: what follows a live value.
const END_LIVE: &[u8; 2] = &[0, 1];
/// A column with a tombstone: `value` null, `deletion_ts` null, `set` true.
const TOMBSTONE: &[u8; 4] = &[2, 0, 0, 1];
/// `snapshot`, `db`, `sequence`, and that `ts_us` is there.
const OF_LOG: &[u8; 14] = b"\x00\x0afalse\x08NULL\x00\x02";
const OF_SNAPSHOT: &[u8; 13] = b"\x00\x08true\x08NULL\x00\x02";

/// Writes one event's bytes.
pub struct AvroWriter<'w> {
    pub scratch: &'w mut Scratch,
    pub context: &'w EventContext,
    pub plan: &'w TablePlan,
    pub avro: &'w AvroPlan,
    pub starts: ConfluentHeaders,
    /// `cluster` and `file` of `source`.
    pub source_middle: &'w FixedText<128>,
    /// Live cells of counters by their columns.
    pub shards: &'w [(u32, Vec<ShardNews>)],
}

impl AvroWriter<'_> {
    /// The message key: every primary-key column, clustering columns null where the event has
    /// none.
    pub fn key<'b>(
        &mut self,
        mut text: EventText<'b>,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        let table = &self.avro.table;
        text.literal(&self.starts.key);
        let mut values = self.values();
        for (column, value) in table.partition_key.iter().zip(partition.values()) {
            text = values.nullable(text, &column.cql_type, Some(value))?;
        }
        let clustering = clustering_of(content);
        for (index, column) in table.clustering.iter().enumerate() {
            let value = clustering.get(index).copied().flatten();
            text = values.nullable(text, &column.cql_type, value)?;
        }
        Ok(text)
    }

    /// The message value. `position` is the logical end of the mutation.
    #[inline]
    pub fn value<'b>(
        &mut self,
        mut text: EventText<'b>,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
        timestamp_us: i64,
        position: u64,
    ) -> Written<'b> {
        let context = self.context;
        let mut time = TimeVarint::of(timestamp_us);
        text.literal(&self.starts.value);
        text.fixed(context.avro.start(context.op(content)));
        text.varint(timestamp_us.div_euclid(1000));
        if context.snapshot_us.is_none() {
            text.literal(OF_LOG);
        } else {
            text.literal(OF_SNAPSHOT);
        }
        text = time.write(text, timestamp_us);
        match timestamp_us.checked_mul(1000) {
            Some(ns) => {
                text.literal(THERE);
                text.varint(ns);
            }
            None => text.literal(NULL),
        }
        text.fixed(self.source_middle);
        text.varint(if context.snapshot_us.is_none() {
            position as i64
        } else {
            NO_POSITION
        });
        text.fixed(&self.avro.source_table);
        if context.format.cells {
            let mut cells = CellsWriter {
                comparable: &mut self.scratch.comparable,
                time,
                plan: self.plan,
                avro: self.avro,
                version: context.version,
                refused: None,
            };
            text = cells.write(text, partition.key, content)?;
        }
        self.after(text, partition, content)
    }

    fn values(&mut self) -> ValueWriter<'_> {
        ValueWriter {
            scratch: &mut self.scratch.value,
            modes: self.context.format.modes,
        }
    }

    #[inline]
    fn after<'b>(
        &mut self,
        mut text: EventText<'b>,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        let table = &self.avro.table;
        for (column, value) in table.partition_key.iter().zip(partition.values()) {
            text = self.live(text, &column.cql_type, value)?;
        }
        let clustering = clustering_of(content);
        for (index, column) in table.clustering.iter().enumerate() {
            match (clustering.get(index), content) {
                (Some(Some(value)), _) => text = self.live(text, &column.cql_type, value)?,
                (_, Content::PartitionDeletion(deletion)) => {
                    text = deleted(text, deletion.timestamp_us);
                }
                _ => text.literal(NULL),
            }
        }
        text = self.columns(text, content)?;
        if let Content::RangeDeletion { start, end, .. } = content {
            text = self.bound(text, start)?;
            text = self.bound(text, end)?;
        } else {
            text.literal(&[0, 0]);
        }
        Ok(text)
    }

    #[inline]
    fn columns<'b>(&mut self, mut text: EventText<'b>, content: &Content<'_, '_>) -> Written<'b> {
        let table = &self.avro.table;
        if let Content::Write(row) = content {
            if let Some(cells) = simple_cells(row) {
                return self.simple_columns(text, cells);
            }
            self.scratch.cells.locate(row, table.columns.len());
        }
        let columns = self.avro.column_fields().iter().zip(&table.columns);
        for (index, (field, column)) in columns.enumerate() {
            if field.is_left_out {
                continue;
            }
            let deletion_us = match content {
                Content::Write(row) => {
                    text = self.written_column(text, index, field, column, row)?;
                    continue;
                }
                Content::PartitionDeletion(deletion) => Some(deletion.timestamp_us),
                // A row deletion leaves the static row alone.
                Content::RowDeletion { deletion, .. } if column.kind == ColumnKind::Regular => {
                    Some(deletion.timestamp_us)
                }
                _ => None,
            };
            match deletion_us.filter(|_| column.dropped_at_us.is_none()) {
                Some(us) => {
                    text = deleted(text, us);
                    text = without_more(text, field);
                }
                None => text.literal(NULL),
            }
        }
        Ok(text)
    }

    #[inline]
    fn simple_columns<'b>(&mut self, mut text: EventText<'b>, cells: &[Cell<'_>]) -> Written<'b> {
        let mut cells = cells.iter().peekable();
        let columns = self
            .avro
            .column_fields()
            .iter()
            .zip(&self.avro.table.columns);
        for (index, (field, column)) in (0_u32..).zip(columns) {
            let cell = cells.next_if(|cell| cell.column == index);
            match cell {
                _ if field.is_left_out => {}
                Some(cell) => text = self.written_cell(text, field, column, cell)?,
                None => text.literal(NULL),
            }
        }
        Ok(text)
    }

    fn written_column<'b>(
        &mut self,
        mut text: EventText<'b>,
        index: usize,
        field: &AfterField,
        column: &Column,
        row: &Row<'_>,
    ) -> Written<'b> {
        if !self.scratch.cells.has(index, row) {
            text.literal(NULL);
            return Ok(text);
        }
        let cells = self.scratch.cells.of(index, row);
        if column.multi_cell {
            return self.written_elements(text, &column.cql_type, cells);
        }
        if let Some(cell) = cells.first() {
            return self.written_cell(text, field, column, cell);
        }
        text.literal(NULL);
        Ok(text)
    }

    #[inline]
    fn live<'b>(&mut self, mut text: EventText<'b>, ty: &CqlType, value: &[u8]) -> Written<'b> {
        text.literal(THERE);
        text = self.values().nullable(text, ty, Some(value))?;
        text.literal(END_LIVE);
        Ok(text)
    }

    #[inline]
    fn written_cell<'b>(
        &mut self,
        mut text: EventText<'b>,
        field: &AfterField,
        column: &Column,
        cell: &Cell<'_>,
    ) -> Written<'b> {
        match cell.state {
            CellState::Live if column.cql_type == CqlType::Counter => {
                text.literal(TOMBSTONE);
                return Ok(self.shards(text, cell.column));
            }
            CellState::Live => text = self.live(text, &column.cql_type, cell.value)?,
            CellState::Expiring(expiry) => {
                text.literal(THERE);
                text = self
                    .values()
                    .nullable(text, &column.cql_type, Some(cell.value))?;
                text.literal(THERE);
                text.varint(expiry.local_deletion_time.0.saturating_mul(1_000_000));
                text.literal(&[1]);
            }
            CellState::Tombstone(_) => text.literal(TOMBSTONE),
        }
        Ok(without_more(text, field))
    }

    /// The elements that were written, not the whole collection; what was removed from a list or
    /// set, or of a user type, stands in `removed`.
    #[inline(never)]
    fn written_elements<'b>(
        &mut self,
        mut text: EventText<'b>,
        ty: &CqlType,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        let elements = cells.iter().map(|cell| ElementCell {
            path: cell.path.unwrap_or_default(),
            value: cell.value,
            tombstone: matches!(cell.state, CellState::Tombstone(_)),
        });
        let removed = elements.clone().filter(|cell| cell.tombstone);
        let count = removed.clone().count() as i64;
        let mut values = self.values();
        text.literal(THERE);
        match ty {
            // A user type that is deleted whole has no fields left to show.
            CqlType::Udt(_) if cells.is_empty() => text.literal(NULL),
            _ => text.literal(THERE),
        }
        match ty {
            CqlType::List(element) => {
                text = values.elements(text, element, elements, |cell| cell.value)?;
            }
            CqlType::Set(element) => {
                text = values.elements(text, element, elements, |cell| cell.path)?;
            }
            CqlType::Map(key, value) => {
                text = values.entries(text, key, value, elements)?;
                text.literal(END_LIVE);
                return Ok(text);
            }
            CqlType::Udt(_) if cells.is_empty() => {}
            CqlType::Udt(user_type) => {
                let fields = user_type.fields.len();
                let unknown = |cell: &ElementCell<'_>| {
                    field_index(cell).map(|index| (index >= fields).then_some(index as u16))
                };
                for cell in elements.clone() {
                    if let Some(index) = unknown(&cell)? {
                        return Err(ValueError::unknown_field(ty, index, fields));
                    }
                }
                for (index, field) in user_type.fields.iter().enumerate() {
                    let is_field = |cell: &ElementCell<'_>| field_index(cell) == Ok(index);
                    let live = elements
                        .clone()
                        .filter(|cell| !cell.tombstone)
                        .find(is_field);
                    let value = live.map(|cell| cell.value);
                    text = values.nullable(text, &field.cql_type, value)?;
                }
            }
            _ => return Err(ValueError::not_multi_cell(ty)),
        }
        text.literal(END_LIVE);
        if count == 0 {
            text.literal(NULL);
            return Ok(text);
        }
        text.literal(THERE);
        text = block(text, count);
        for cell in removed {
            match ty {
                CqlType::Set(element) => {
                    text = values.nullable(text, element, Some(cell.path))?;
                }
                CqlType::Udt(user_type) => {
                    let field = user_type.fields.get(field_index(&cell)?);
                    text.bytes(field.map_or(&[][..], |field| field.name.as_bytes()));
                }
                _ => text = values.value(text, &CqlType::TimeUuid, cell.path)?,
            }
        }
        text.literal(END);
        Ok(text)
    }

    fn shards<'b>(&mut self, mut text: EventText<'b>, column: u32) -> EventText<'b> {
        let places = self.shards.iter();
        let mut found = places.filter(|(of, _)| *of == column);
        let shards = found
            .next()
            .map_or(&[][..], |(_, shards)| shards.as_slice());
        text.literal(THERE);
        text = block(text, shards.len() as i64);
        for ShardNews { shard, growth } in shards {
            let id = &mut self.scratch.value;
            id.clear();
            write_uuid(id, shard.counter_id);
            text.bytes(id);
            text.varint(shard.clock);
            text.varint(shard.count);
            match kind_name(shard.kind) {
                Some(kind) => {
                    text.literal(THERE);
                    text.bytes(kind.as_bytes());
                }
                None => text.literal(NULL),
            }
            match growth {
                Some(growth) => {
                    text.literal(THERE);
                    text.varint(growth.delta);
                    text.literal(THERE);
                    text.varint(growth.since);
                }
                None => text.literal(&[0, 0]),
            }
        }
        text.literal(END);
        text
    }

    /// One side of a range.
    fn bound<'b>(&mut self, mut text: EventText<'b>, bound: &Bound<'_, '_>) -> Written<'b> {
        text.literal(THERE);
        text.bytes(bound.kind.name().as_bytes());
        let values = bound_values(&self.plan.table, bound);
        text = block(text, values.len() as i64);
        for value in values {
            text.bytes(value.name.as_bytes());
            match value.bytes {
                Some(bytes) => {
                    let scratch = &mut self.scratch.value;
                    scratch.clear();
                    write_text(scratch, value.cql_type, bytes)?;
                    text.literal(THERE);
                    text = super::value::string(text, scratch);
                }
                None => text.literal(NULL),
            }
            text.bytes(value.class.as_bytes());
        }
        text.literal(END);
        Ok(text)
    }
}

/// A column that a deletion reaches, up to `removed`.
#[inline(never)]
fn deleted(mut text: EventText<'_>, timestamp_us: i64) -> EventText<'_> {
    text.literal(&[2, 0, 2]);
    text.varint(timestamp_us);
    text.literal(&[1]);
    text
}

/// `removed` or `shards` of a column that has none.
#[inline]
fn without_more<'b>(mut text: EventText<'b>, field: &AfterField) -> EventText<'b> {
    if field.has_more {
        text.literal(NULL);
    }
    text
}

fn field_index(cell: &ElementCell<'_>) -> Result<usize, ValueError> {
    let index = fixed(&CqlType::SmallInt, cell.path)?;
    Ok(usize::from(u16::from_be_bytes(index)))
}
