//! Writes the key and the value of an event (`docs/event-format.md`).
//!
//! The envelope is Debezium's: `ts_ms`, `op`, `source`, `after`, and with `cells` one member more.

use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::descriptor::Version;
use commitlog_core::row::{Cell, CellState, Row};
use commitlog_core::schema::{Column, ColumnKind, Table};

use crate::cells::CellsWriter;
use crate::counters::{ShardNews, write_shards};
use crate::event::{Bound, Content, Op};
use crate::fixed_text::FixedText;
use crate::format::EventFormat;
use crate::plan::{Member, TablePlan};
use crate::time_text::TimeText;
use crate::value::ValueError;
use crate::value::json::{ElementCell, write_json, write_multi_cell, write_removed, write_string};
use crate::value::text::write_json_text;

/// What all events of one read have in common.
pub struct EventContext {
    pub format: Arc<EventFormat>,
    pub version: Version,
    /// For each [`Op`] the start of a value, up to in front of the event's time in `source`.
    starts: [Vec<u8>; Op::ALL.len()],
    /// File name of the segment as a JSON string.
    file: Vec<u8>,
}

impl EventContext {
    pub fn new(format: &Arc<EventFormat>, version: Version, segment: &str, now_ms: i64) -> Self {
        let starts = Op::ALL.map(|op| {
            let letter = op.letter(format.op_style);
            let mut start = format!("{{\"ts_ms\":{now_ms},\"op\":\"{letter}\"").into_bytes();
            start.extend_from_slice(b",\"source\":{\"version\":");
            write_string(&mut start, format.connector_version.as_bytes());
            start.extend_from_slice(b",\"connector\":\"cassandra\",\"name\":");
            write_string(&mut start, format.topic_prefix.as_bytes());
            start.extend_from_slice(b",\"ts_ms\":");
            start
        });
        let mut file = Vec::new();
        write_string(&mut file, segment.as_bytes());
        Self {
            format: Arc::clone(format),
            version,
            starts,
            file,
        }
    }

    /// The part of `source` between the event's time and its position.
    pub fn source_middle(&self, plan: &TablePlan) -> Vec<u8> {
        [&plan.source_cluster, &self.file[..], b",\"pos\":"].concat()
    }
}

/// The partition that events belong to.
pub struct Partition<'p> {
    /// As on the wire.
    pub key: &'p [u8],
    /// The values of several columns; of one column the key is the value.
    composite: Vec<&'p [u8]>,
}

impl<'p> Partition<'p> {
    /// Takes a key apart: one column is the key itself, several are each behind a length and in
    /// front of a zero byte (`CompositeType`, §6.3). `None` when it does not fit the table.
    pub fn of(table: &Table, key: &'p [u8]) -> Option<Self> {
        let mut composite = Vec::new();
        if table.partition_key.len() == 1 {
            return Some(Self { key, composite });
        }
        let mut rest = key;
        for _ in &table.partition_key {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let (value, behind) =
                behind.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            composite.push(value);
            rest = behind.strip_prefix(&[0])?;
        }
        rest.is_empty().then_some(Self { key, composite })
    }

    /// One for each partition key column.
    pub fn values(&self) -> &[&'p [u8]] {
        if self.composite.is_empty() {
            std::slice::from_ref(&self.key)
        } else {
            &self.composite
        }
    }
}

/// Scratch space, reused from event to event.
#[derive(Default)]
pub struct Scratch {
    comparable: Vec<u8>,
    /// For each column of the table, where its cells lie in the row; none of a column that is not
    /// among the located ones.
    cells: Vec<(u32, u32)>,
    located: Vec<u32>,
    /// Where the values of the key columns stand in the message key.
    key_values: Vec<(usize, usize)>,
    time: TimeText,
}

/// Writes one event's bytes.
pub struct EventWriter<'w> {
    pub out: &'w mut Vec<u8>,
    pub scratch: &'w mut Scratch,
    pub context: &'w EventContext,
    pub plan: &'w TablePlan,
    /// [`EventContext::source_middle`] of this plan.
    pub source_middle: &'w [u8],
    /// Live cells of counters by their columns.
    pub shards: &'w [(u32, Vec<ShardNews>)],
}

impl EventWriter<'_> {
    fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Bytes whose number the compiler knows, which it can copy without a call.
    #[inline]
    fn literal<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out.extend_from_slice(bytes);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(number).as_bytes());
    }

    fn position(&mut self, position: u64) {
        // Segments are smaller than that, and short numbers are faster.
        match u32::try_from(position) {
            Ok(position) => self.number(position),
            Err(_) => self.number(position),
        }
    }

    fn json(&mut self, cql_type: &CqlType, bytes: &[u8]) -> Result<(), ValueError> {
        let modes = &self.context.format.value_modes;
        write_json(self.out, cql_type, bytes, modes)
    }

    /// The message key: every primary-key column, clustering columns null where the event has
    /// none.
    pub fn key(
        &mut self,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
    ) -> Result<(), ValueError> {
        let plan = self.plan;
        self.scratch.key_values.clear();
        let mut open = b'{';
        let columns = plan.table.partition_key.iter().zip(partition.values());
        for (member, (column, value)) in plan.partition_key_members.iter().zip(columns) {
            self.out.push(open);
            open = b',';
            self.key_value(&member.name, column, Some(value))?;
        }
        let clustering = clustering_of(content);
        let columns = plan.table.clustering.iter().enumerate();
        for (member, (index, column)) in plan.clustering_members.iter().zip(columns) {
            self.out.push(open);
            open = b',';
            let value = clustering.get(index).copied().flatten();
            self.key_value(&member.name, column, value)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn key_value(
        &mut self,
        name: &FixedText,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Result<(), ValueError> {
        name.write(self.out);
        let start = self.out.len();
        match value {
            Some(value) => self.json(&column.cql_type, value)?,
            None => self.literal(b"null"),
        }
        self.scratch.key_values.push((start, self.out.len()));
        Ok(())
    }

    /// The message value. [`Self::key`] comes right before. `position` is the logical end of the
    /// mutation.
    pub fn value(
        &mut self,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
        timestamp_us: i64,
        position: u64,
    ) -> Result<(), ValueError> {
        let plan = self.plan;
        let context = self.context;
        if let Some(start) = context.starts.get(content.op().index()) {
            self.raw(start);
        }
        let time = &mut self.scratch.time;
        time.write_ms(self.out, timestamp_us);
        self.out.extend_from_slice(
            b",\"snapshot\":\"false\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":",
        );
        time.write_us(self.out, timestamp_us);
        self.out.extend_from_slice(b",\"ts_ns\":");
        time.write_ns(self.out, timestamp_us);
        self.raw(self.source_middle);
        self.position(position);
        self.raw(&plan.source_table);
        self.after(content)?;
        self.literal(b"}");
        if context.format.cells {
            CellsWriter {
                out: self.out,
                comparable: &mut self.scratch.comparable,
                time: &mut self.scratch.time,
                plan,
                version: context.version,
            }
            .write(partition.key, content)?;
        }
        self.literal(b"}");
        Ok(())
    }

    fn after(&mut self, content: &Content<'_, '_>) -> Result<(), ValueError> {
        let plan = self.plan;
        let table = &plan.table;
        for (index, member) in plan.partition_key_members.iter().enumerate() {
            member.value.write(self.out);
            self.same_as_in_key(index);
        }
        let clustering = clustering_of(content);
        for (index, member) in plan.clustering_members.iter().enumerate() {
            match (clustering.get(index), content) {
                (Some(Some(_)), _) => {
                    member.value.write(self.out);
                    self.same_as_in_key(index + plan.partition_key_members.len());
                }
                (_, Content::PartitionDeletion(deletion)) => {
                    self.deleted_column(&member.name, deletion.timestamp_us);
                }
                _ => member.null.write(self.out),
            }
        }
        if let Content::Write(row) = content {
            self.locate_cells(row);
        }
        for (index, (member, column)) in plan.column_members.iter().zip(&table.columns).enumerate()
        {
            let is_written = match content {
                Content::Write(row) => self.has_cells(index, row),
                _ => false,
            };
            if column.dropped_at_us.is_some() && !is_written {
                continue;
            }
            if plan.has_versions && !is_written && self.is_written_otherwise(column, content) {
                continue;
            }
            match content {
                Content::Write(row) if is_written => {
                    self.written_column(index, member, column, row)?;
                }
                Content::PartitionDeletion(deletion) => {
                    self.deleted_column(&member.name, deletion.timestamp_us);
                }
                // A row deletion leaves the static row alone.
                Content::RowDeletion { deletion, .. } if column.kind == ColumnKind::Regular => {
                    self.deleted_column(&member.name, deletion.timestamp_us);
                }
                _ => member.null.write(self.out),
            }
        }
        if let Content::RangeDeletion { start, end, .. } = content {
            self.literal(b"\"_range_start\":");
            self.bound(start)?;
            self.literal(b",\"_range_end\":");
            self.bound(end)?;
        } else {
            self.literal(b"\"_range_start\":null,\"_range_end\":null");
        }
        Ok(())
    }

    /// The rest of a member whose value stands in the key already.
    fn same_as_in_key(&mut self, index: usize) {
        if let Some((start, end)) = self.scratch.key_values.get(index) {
            self.out.extend_from_within(*start..*end);
        }
        self.end_live();
    }

    /// What follows a live value.
    #[inline]
    fn end_live(&mut self) {
        self.literal(b",\"deletion_ts\":null,\"set\":true},");
    }

    fn deleted_column(&mut self, name: &FixedText, timestamp_us: i64) {
        name.write(self.out);
        self.literal(b"{\"value\":null,\"deletion_ts\":");
        self.scratch.time.write_us(self.out, timestamp_us);
        self.literal(b",\"set\":true},");
    }

    /// Notes where the cells of each column lie; cells of a column are neighbours.
    fn locate_cells(&mut self, row: &Row<'_>) {
        let places = &mut self.scratch.cells;
        // One by one: what many at once have cleared is slow to read right after.
        for column in self.scratch.located.drain(..) {
            if let Some(place) = places.get_mut(column as usize) {
                *place = (0, 0);
            }
        }
        if places.len() < self.plan.table.columns.len() {
            places.resize(self.plan.table.columns.len(), (0, 0));
        }
        for (index, cell) in (0_u32..).zip(&row.cells) {
            if let Some((start, end)) = places.get_mut(cell.column as usize) {
                if *end == 0 {
                    *start = index;
                    self.scratch.located.push(cell.column);
                }
                *end = index + 1;
            }
        }
    }

    fn cells_of<'r, 'p>(&self, column: usize, row: &'r Row<'p>) -> &'r [Cell<'p>] {
        let (start, end) = self.scratch.cells.get(column).copied().unwrap_or((0, 0));
        row.cells
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// Whether another version of the column is written: its member stands for the column.
    #[cold]
    fn is_written_otherwise(&self, column: &Column, content: &Content<'_, '_>) -> bool {
        let Content::Write(row) = content else {
            return false;
        };
        let versions = self.plan.table.columns.iter().enumerate();
        let mut versions = versions.filter(|(_, other)| other.is_namesake(column));
        versions.any(|(index, _)| self.has_cells(index, row))
    }

    fn has_cells(&self, column: usize, row: &Row<'_>) -> bool {
        !self.cells_of(column, row).is_empty() || is_overwritten(column, row)
    }

    fn written_column(
        &mut self,
        index: usize,
        member: &Member,
        column: &Column,
        row: &Row<'_>,
    ) -> Result<(), ValueError> {
        let cells = self.cells_of(index, row);
        if column.multi_cell {
            member.value.write(self.out);
            return self.written_elements(&column.cql_type, cells);
        }
        let Some(cell) = cells.first() else {
            member.null.write(self.out);
            return Ok(());
        };
        match cell.state {
            CellState::Live if column.cql_type == CqlType::Counter => {
                member.name.write(self.out);
                let places = self.shards.iter();
                let shards = places.filter(|(column, _)| *column == cell.column);
                let shards = shards.map(|(_, shards)| shards.as_slice()).next();
                write_shards(self.out, shards.unwrap_or_default());
                self.literal(b",");
            }
            CellState::Live => {
                member.value.write(self.out);
                self.json(&column.cql_type, cell.value)?;
                self.end_live();
            }
            CellState::Expiring(expiry) => {
                member.value.write(self.out);
                self.json(&column.cql_type, cell.value)?;
                self.literal(b",\"deletion_ts\":");
                self.number(i128::from(expiry.local_deletion_time.0) * 1_000_000);
                self.literal(b",\"set\":true},");
            }
            CellState::Tombstone(_) => {
                member.value.write(self.out);
                self.literal(b"null");
                self.end_live();
            }
        }
        Ok(())
    }

    /// The elements that were written, not the whole collection; what was removed from a list or
    /// set stands in `removed`.
    fn written_elements(
        &mut self,
        cql_type: &CqlType,
        cells: &[Cell<'_>],
    ) -> Result<(), ValueError> {
        let modes = &self.context.format.value_modes;
        let elements = || {
            cells.iter().map(|cell| ElementCell {
                path: cell.path.unwrap_or_default(),
                value: cell.value,
                tombstone: matches!(cell.state, CellState::Tombstone(_)),
            })
        };
        // A user type that is deleted whole has no fields left to show.
        let removed = if cells.is_empty() && matches!(cql_type, CqlType::Udt(_)) {
            self.literal(b"null");
            0
        } else {
            write_multi_cell(self.out, cql_type, elements(), modes)?
        };
        self.literal(b",\"deletion_ts\":null,\"set\":true");
        if removed > 0 {
            self.literal(b",\"removed\":");
            write_removed(self.out, cql_type, elements(), modes)?;
        }
        self.literal(b"},");
        Ok(())
    }

    fn bound(&mut self, bound: &Bound<'_, '_>) -> Result<(), ValueError> {
        self.raw(b"{\"method\":\"");
        self.raw(bound.kind.name().as_bytes());
        self.raw(b"\",\"values\":[");
        let plan = self.plan;
        let mut separator: &[u8] = b"{\"name\":";
        for (column, value) in plan.table.clustering.iter().zip(bound.clustering) {
            self.raw(separator);
            separator = b",{\"name\":";
            write_string(self.out, cql_identifier(&column.name).as_bytes());
            self.raw(b",\"value\":");
            match value {
                Some(value) => write_json_text(self.out, &column.cql_type, value)?,
                None => self.raw(b"null"),
            }
            self.raw(b",\"type\":");
            let class = commitlog_core::schema::marshal_name(
                &column.cql_type,
                column.multi_cell,
                column.reversed,
            );
            write_string(self.out, class.as_bytes());
            self.raw(b"}");
        }
        self.raw(b"]}");
        Ok(())
    }
}

fn is_overwritten(column: usize, row: &Row<'_>) -> bool {
    row.complex_deletions
        .iter()
        .any(|(index, _)| *index as usize == column)
}

/// The clustering of the row that an event is about; none for a whole partition, a range and the
/// static row.
fn clustering_of<'a, 'p>(content: &Content<'a, 'p>) -> &'a [Option<&'p [u8]>] {
    match content {
        Content::RowDeletion { clustering, .. } => clustering,
        Content::Write(row) => &row.clustering,
        Content::PartitionDeletion(_) | Content::RangeDeletion { .. } => &[],
    }
}

/// A name as CQL writes it: quoted unless it is plain lower case (`ColumnIdentifier#toCQLString`).
fn cql_identifier(name: &str) -> std::borrow::Cow<'_, str> {
    let mut characters = name.chars();
    let is_plain = characters.next().is_some_and(|c| c.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain {
        name.into()
    } else {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    }
}
