//! Writes the key and the value of an event (`docs/reference/event-format.md`).
//!
//! The envelope is Debezium's: `ts_ms`, `op`, `source`, `after`, and with `cells` one member more.

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{Cell, CellState, Row};
use commitlog_core::schema::{Column, ColumnKind};

use crate::cells::CellsWriter;
use crate::connect::LastOpening;
use crate::counters::{ShardNews, write_shards};
use crate::event::Content;
use crate::event_context::EventContext;
use crate::event_text::EventText;
use crate::fixed_text::FixedText;
use crate::partition::Partition;
use crate::plan::{Member, TablePlan};
use crate::range_bound::write_bound;
use crate::row_cells::{CellPlaces, simple_cells};
use crate::time_text::TimeText;
use crate::value::json::{ElementCell, is_plain_text, write_json, write_multi_cell, write_removed};
use crate::value::{ValueError, ValueModes};

/// Scratch space, reused from event to event.
#[derive(Default)]
pub struct Scratch {
    pub comparable: Vec<u8>,
    /// A value that is not written into the event at once.
    pub value: Vec<u8>,
    pub cells: CellPlaces,
    /// Where the values of the key columns stand in the message key.
    key_values: Vec<(usize, usize)>,
    pub opening: LastOpening,
}

/// Writes one event's bytes.
pub struct EventWriter<'w> {
    pub scratch: &'w mut Scratch,
    pub context: &'w EventContext,
    pub plan: &'w TablePlan,
    /// How values are written.
    pub modes: ValueModes,
    /// [`EventContext::source_middle`] of this plan.
    pub source_middle: &'w FixedText<128>,
    /// Live cells of counters by their columns.
    pub shards: &'w [(u32, Vec<ShardNews>)],
}

type Written<'b> = Result<EventText<'b>, ValueError>;

impl EventWriter<'_> {
    /// The message key: every primary-key column, clustering columns null where the event has
    /// none.
    #[inline]
    pub fn key<'b>(
        &mut self,
        mut text: EventText<'b>,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        let plan = self.plan;
        self.scratch.key_values.clear();
        let whole = text.room();
        let mut open = *b"{";
        let columns = plan.shown.partition_key.iter().zip(partition.values());
        for (member, (column, value)) in plan.partition_key_members.iter().zip(columns) {
            text.literal(&open);
            open = *b",";
            text.fixed(&member.name);
            text = self.key_value(text, whole, column, Some(value))?;
        }
        let clustering = clustering_of(content);
        let columns = plan.shown.clustering.iter().enumerate();
        for (member, (index, column)) in plan.clustering_members.iter().zip(columns) {
            text.literal(&open);
            open = *b",";
            let value = clustering.get(index).copied().flatten();
            text.fixed(&member.name);
            text = self.key_value(text, whole, column, value)?;
        }
        text.literal(b"}");
        Ok(text)
    }

    /// A value of a key that has room for `whole` bytes.
    #[inline]
    fn key_value<'b>(
        &mut self,
        mut text: EventText<'b>,
        whole: usize,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b> {
        let start = whole.saturating_sub(text.room());
        match value {
            Some(value) => text = self.json(text, &column.cql_type, value)?,
            None => text.literal(b"null"),
        }
        let end = whole.saturating_sub(text.room());
        self.scratch.key_values.push((start, end));
        Ok(text)
    }

    /// The message value, behind the message key that [`Self::key`] made. `position` is the logical end of the
    /// mutation.
    #[inline]
    pub fn value<'b>(
        &mut self,
        mut text: EventText<'b>,
        key: &[u8],
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
        timestamp_us: i64,
        position: u64,
    ) -> Written<'b> {
        let plan = self.plan;
        let context = self.context;
        let time = TimeText::of(timestamp_us);
        text.fixed(context.start(context.op(content)));
        text.time_ms(&time);
        if context.snapshot_us.is_none() {
            text.literal(b",\"snapshot\":\"false\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":");
        } else {
            text.literal(b",\"snapshot\":\"true\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":");
        }
        text.time_us(&time);
        text.literal(b",\"ts_ns\":");
        text.time_ns(&time);
        text.fixed(self.source_middle);
        text.number(if context.snapshot_us.is_none() {
            position as i64
        } else {
            NO_POSITION
        });
        text.fixed(&plan.source_table);
        text = self.after(text, key, content)?;
        text.literal(b"}");
        if context.format.cells {
            let mut cells = CellsWriter {
                comparable: &mut self.scratch.comparable,
                time,
                plan,
                version: context.version,
                refused: None,
            };
            text = cells.write(text, partition.key, content)?;
        }
        text.literal(b"}");
        Ok(text)
    }

    #[inline]
    fn after<'b>(
        &mut self,
        mut text: EventText<'b>,
        key: &[u8],
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        let plan = self.plan;
        for (index, member) in plan.partition_key_members.iter().enumerate() {
            text.fixed(&member.value);
            text = self.same_as_in_key(text, key, index);
        }
        let clustering = clustering_of(content);
        for (index, member) in plan.clustering_members.iter().enumerate() {
            match (clustering.get(index), content) {
                (Some(Some(_)), _) => {
                    text.fixed(&member.value);
                    text = self.same_as_in_key(text, key, index + plan.partition_key_members.len());
                }
                (_, Content::PartitionDeletion(deletion)) => {
                    text = deleted_column(text, &member.name, deletion.timestamp_us);
                }
                _ => text.fixed(&member.null),
            }
        }
        text = self.columns(text, content)?;
        if let Content::RangeDeletion { start, end, .. } = content {
            let value = &mut self.scratch.value;
            value.clear();
            value.extend_from_slice(b"\"_range_start\":");
            write_bound(value, &plan.table, start)?;
            value.extend_from_slice(b",\"_range_end\":");
            write_bound(value, &plan.table, end)?;
            text.slice(value);
        } else {
            text.literal(b"\"_range_start\":null,\"_range_end\":null");
        }
        Ok(text)
    }

    #[inline]
    fn columns<'b>(&mut self, mut text: EventText<'b>, content: &Content<'_, '_>) -> Written<'b> {
        let plan = self.plan;
        if let Content::Write(row) = content {
            if let Some(simple) = simple_cells(row).filter(|_| plan.is_plain) {
                return self.simple_columns(text, simple);
            }
            self.scratch.cells.locate(row, plan.table.columns.len());
        }
        let columns = plan.column_members.iter().zip(&plan.shown.columns);
        for (index, (member, column)) in columns.enumerate() {
            let is_written = match content {
                Content::Write(row) => self.scratch.cells.has(index, row),
                _ => false,
            };
            if column.dropped_at_us.is_some() && !is_written || plan.is_left_out(index as u32) {
                continue;
            }
            if plan.has_versions && !is_written && self.is_written_otherwise(column, content) {
                continue;
            }
            match content {
                Content::Write(row) if is_written => {
                    text = self.written_column(text, index, member, column, row)?;
                }
                Content::PartitionDeletion(deletion) => {
                    text = deleted_column(text, &member.name, deletion.timestamp_us);
                }
                // A row deletion leaves the static row alone.
                Content::RowDeletion { deletion, .. } if column.kind == ColumnKind::Regular => {
                    text = deleted_column(text, &member.name, deletion.timestamp_us);
                }
                _ => text.fixed(&member.null),
            }
        }
        Ok(text)
    }

    #[inline]
    fn simple_columns<'b>(&mut self, mut text: EventText<'b>, cells: &[Cell<'_>]) -> Written<'b> {
        let plan = self.plan;
        let mut cells = cells.iter().peekable();
        let columns = plan.column_members.iter().zip(&plan.shown.columns);
        for (index, (member, column)) in (0_u32..).zip(columns) {
            match cells.next_if(|cell| cell.column == index) {
                Some(cell) => text = self.written_cell(text, member, column, cell)?,
                None if column.dropped_at_us.is_some() => {}
                None => text.fixed(&member.null),
            }
        }
        Ok(text)
    }

    #[inline(never)]
    fn json<'b>(
        &mut self,
        mut text: EventText<'b>,
        cql_type: &CqlType,
        bytes: &[u8],
    ) -> Written<'b> {
        let number = match cql_type {
            CqlType::Int => bytes.try_into().ok().map(i32::from_be_bytes).map(i64::from),
            CqlType::BigInt | CqlType::Timestamp | CqlType::Time => {
                bytes.try_into().ok().map(i64::from_be_bytes)
            }
            _ => None,
        };
        if let Some(number) = number {
            text.number(number);
        } else if matches!(cql_type, CqlType::Ascii | CqlType::Text) && is_plain_text(bytes) {
            text.literal(b"\"");
            text.slice(bytes);
            text.literal(b"\"");
        } else {
            let value = &mut self.scratch.value;
            value.clear();
            write_json(value, cql_type, bytes, &self.modes)?;
            text.slice(value);
        }
        Ok(text)
    }

    /// The rest of a member whose value stands in the key already.
    #[inline]
    fn same_as_in_key<'b>(
        &self,
        mut text: EventText<'b>,
        key: &[u8],
        index: usize,
    ) -> EventText<'b> {
        if let Some((start, end)) = self.scratch.key_values.get(index) {
            text.slice(key.get(*start..*end).unwrap_or_default());
        }
        text.literal(END_LIVE);
        text
    }

    /// Whether another version of the column is written: its member stands for the column.
    #[cold]
    fn is_written_otherwise(&self, column: &Column, content: &Content<'_, '_>) -> bool {
        let Content::Write(row) = content else {
            return false;
        };
        let versions = self.plan.shown.columns.iter().enumerate();
        let mut versions = versions.filter(|(_, other)| other.is_namesake(column));
        versions.any(|(index, _)| self.scratch.cells.has(index, row))
    }

    #[inline]
    fn written_column<'b>(
        &mut self,
        mut text: EventText<'b>,
        index: usize,
        member: &Member,
        column: &Column,
        row: &Row<'_>,
    ) -> Written<'b> {
        let cells = self.scratch.cells.of(index, row);
        if column.multi_cell {
            text.fixed(&member.value);
            return self.written_elements(text, &column.cql_type, cells);
        }
        match cells.first() {
            Some(cell) => return self.written_cell(text, member, column, cell),
            None => text.fixed(&member.null),
        }
        Ok(text)
    }

    #[inline]
    fn written_cell<'b>(
        &mut self,
        mut text: EventText<'b>,
        member: &Member,
        column: &Column,
        cell: &Cell<'_>,
    ) -> Written<'b> {
        match cell.state {
            CellState::Live if column.cql_type == CqlType::Counter => {
                let places = self.shards.iter();
                let shards = places.filter(|(column, _)| *column == cell.column);
                let shards = shards.map(|(_, shards)| shards.as_slice()).next();
                let value = &mut self.scratch.value;
                value.clear();
                write_shards(value, shards.unwrap_or_default());
                text.fixed(&member.name);
                text.slice(value);
                text.literal(b",");
            }
            CellState::Live => {
                text.fixed(&member.value);
                text = self.json(text, &column.cql_type, cell.value)?;
                text.literal(END_LIVE);
            }
            CellState::Expiring(expiry) => {
                text.fixed(&member.value);
                text = self.json(text, &column.cql_type, cell.value)?;
                text.literal(b",\"deletion_ts\":");
                let us = i128::from(expiry.local_deletion_time.0) * 1_000_000;
                text.slice(itoa::Buffer::new().format(us).as_bytes());
                text.literal(b",\"set\":true},");
            }
            CellState::Tombstone(_) => {
                text.fixed(&member.value);
                text.literal(b"null");
                text.literal(END_LIVE);
            }
        }
        Ok(text)
    }

    /// The elements that were written, not the whole collection; what was removed from a list or
    /// set stands in `removed`.
    #[inline(never)]
    fn written_elements<'b>(
        &mut self,
        mut text: EventText<'b>,
        cql_type: &CqlType,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        let modes = &self.modes;
        let elements = || {
            cells.iter().map(|cell| ElementCell {
                path: cell.path.unwrap_or_default(),
                value: cell.value,
                tombstone: matches!(cell.state, CellState::Tombstone(_)),
            })
        };
        let value = &mut self.scratch.value;
        value.clear();
        // A user type that is deleted whole has no fields left to show.
        let removed = if cells.is_empty() && matches!(cql_type, CqlType::Udt(_)) {
            value.extend_from_slice(b"null");
            0
        } else {
            write_multi_cell(value, cql_type, elements(), modes)?
        };
        value.extend_from_slice(b",\"deletion_ts\":null,\"set\":true");
        if removed > 0 {
            value.extend_from_slice(b",\"removed\":");
            write_removed(value, cql_type, elements(), modes)?;
        }
        value.extend_from_slice(b"},");
        text.slice(value);
        Ok(text)
    }
}

/// `source.pos` of what is in no segment.
pub const NO_POSITION: i64 = -1;
/// What follows a live value.
const END_LIVE: &[u8; 32] = b",\"deletion_ts\":null,\"set\":true},";

#[inline(never)]
fn deleted_column<'b>(
    mut text: EventText<'b>,
    name: &FixedText,
    timestamp_us: i64,
) -> EventText<'b> {
    text.fixed(name);
    text.literal(b"{\"value\":null,\"deletion_ts\":");
    text.number(timestamp_us);
    text.literal(b",\"set\":true},");
    text
}

/// The clustering of the row that an event is about; none for a whole partition, a range and the
/// static row.
#[inline]
pub fn clustering_of<'a, 'p>(content: &Content<'a, 'p>) -> &'a [Option<&'p [u8]>] {
    match content {
        Content::RowDeletion { clustering, .. } => clustering,
        Content::Write(row) => &row.clustering,
        Content::PartitionDeletion(_) | Content::RangeDeletion { .. } => &[],
    }
}
