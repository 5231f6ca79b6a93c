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
use crate::event::{Bound, Content};
use crate::format::EventFormat;
use crate::plan::TablePlan;
use crate::value::ValueError;
use crate::value::json::{ElementCell, write_json, write_multi_cell, write_removed, write_string};
use crate::value::text::write_json_text;

/// What all events of one read have in common.
pub struct EventContext {
    pub format: Arc<EventFormat>,
    pub version: Version,
    /// The start of `source`, up to in front of the event's time.
    source_start: Vec<u8>,
    /// File name of the segment as a JSON string.
    file: Vec<u8>,
    /// Wall clock, in milliseconds.
    now_ms: i64,
}

impl EventContext {
    pub fn new(format: &Arc<EventFormat>, version: Version, segment: &str, now_ms: i64) -> Self {
        let mut source_start = b"{\"version\":".to_vec();
        write_string(&mut source_start, format.connector_version.as_bytes());
        source_start.extend_from_slice(b",\"connector\":\"cassandra\",\"name\":");
        write_string(&mut source_start, format.topic_prefix.as_bytes());
        source_start.extend_from_slice(b",\"ts_ms\":");
        let mut file = Vec::new();
        write_string(&mut file, segment.as_bytes());
        Self {
            format: Arc::clone(format),
            version,
            source_start,
            file,
            now_ms,
        }
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
    /// For each column of the table, where its cells lie in the row.
    cells: Vec<(u32, u32)>,
}

/// Writes one event's bytes.
pub struct EventWriter<'w> {
    pub out: &'w mut Vec<u8>,
    pub scratch: &'w mut Scratch,
    pub context: &'w EventContext,
    pub plan: &'w TablePlan,
    /// Live cells of counters by their columns.
    pub shards: &'w [(u32, Vec<ShardNews>)],
}

impl EventWriter<'_> {
    fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(number).as_bytes());
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
        let mut open = b'{';
        let columns = plan.table.partition_key.iter().zip(partition.values());
        for (member, (column, value)) in plan.partition_key_members.iter().zip(columns) {
            self.out.push(open);
            open = b',';
            self.raw(member);
            self.json(&column.cql_type, value)?;
        }
        let clustering = clustering_of(content);
        let columns = plan.table.clustering.iter().enumerate();
        for (member, (index, column)) in plan.clustering_members.iter().zip(columns) {
            self.out.push(open);
            open = b',';
            self.raw(member);
            match clustering.get(index) {
                Some(Some(value)) => self.json(&column.cql_type, value)?,
                _ => self.raw(b"null"),
            }
        }
        self.raw(b"}");
        Ok(())
    }

    /// The message value. `position` is the logical end of the mutation.
    pub fn value(
        &mut self,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
        timestamp_us: i64,
        position: u64,
    ) -> Result<(), ValueError> {
        let plan = self.plan;
        let context = self.context;
        self.raw(b"{\"ts_ms\":");
        self.number(context.now_ms);
        self.raw(b",\"op\":\"");
        self.raw(content.op().letter(context.format.op_style).as_bytes());
        self.raw(b"\",\"source\":");
        self.raw(&context.source_start);
        self.number(timestamp_us.div_euclid(1000));
        self.raw(b",\"snapshot\":\"false\",\"db\":\"NULL\",\"sequence\":null,\"ts_us\":");
        self.number(timestamp_us);
        self.raw(b",\"ts_ns\":");
        match timestamp_us.checked_mul(1000) {
            Some(timestamp_ns) => self.number(timestamp_ns),
            None => self.raw(b"null"),
        }
        self.raw(&plan.source_cluster);
        self.raw(&context.file);
        self.raw(b",\"pos\":");
        self.number(position);
        self.raw(&plan.source_table);
        self.raw(b",\"after\":{");
        self.after(partition, content)?;
        self.raw(b"}");
        if context.format.cells {
            CellsWriter {
                out: self.out,
                comparable: &mut self.scratch.comparable,
                plan,
                version: context.version,
            }
            .write(partition.key, content)?;
        }
        self.raw(b"}");
        Ok(())
    }

    fn after(
        &mut self,
        partition: &Partition<'_>,
        content: &Content<'_, '_>,
    ) -> Result<(), ValueError> {
        let plan = self.plan;
        let table = &plan.table;
        let columns = table.partition_key.iter().zip(partition.values());
        for (member, (column, value)) in plan.partition_key_members.iter().zip(columns) {
            self.raw(member);
            self.live_value(&column.cql_type, value)?;
            self.raw(b",");
        }
        let clustering = clustering_of(content);
        let columns = table.clustering.iter().enumerate();
        for (member, (index, column)) in plan.clustering_members.iter().zip(columns) {
            self.raw(member);
            match (clustering.get(index), content) {
                (Some(Some(value)), _) => self.live_value(&column.cql_type, value)?,
                (_, Content::PartitionDeletion(deletion)) => {
                    self.deleted_value(deletion.timestamp_us);
                }
                _ => self.raw(b"null"),
            }
            self.raw(b",");
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
            self.raw(member);
            match content {
                Content::Write(row) if is_written => self.written_column(index, column, row)?,
                Content::PartitionDeletion(deletion) => self.deleted_value(deletion.timestamp_us),
                // A row deletion leaves the static row alone.
                Content::RowDeletion { deletion, .. } if column.kind == ColumnKind::Regular => {
                    self.deleted_value(deletion.timestamp_us);
                }
                _ => self.raw(b"null"),
            }
            self.raw(b",");
        }
        if let Content::RangeDeletion { start, end, .. } = content {
            self.raw(b"\"_range_start\":");
            self.bound(start)?;
            self.raw(b",\"_range_end\":");
            self.bound(end)?;
        } else {
            self.raw(b"\"_range_start\":null,\"_range_end\":null");
        }
        Ok(())
    }

    fn live_value(&mut self, cql_type: &CqlType, bytes: &[u8]) -> Result<(), ValueError> {
        self.raw(b"{\"value\":");
        self.json(cql_type, bytes)?;
        self.raw(b",\"deletion_ts\":null,\"set\":true}");
        Ok(())
    }

    fn deleted_value(&mut self, timestamp_us: i64) {
        self.raw(b"{\"value\":null,\"deletion_ts\":");
        self.number(timestamp_us);
        self.raw(b",\"set\":true}");
    }

    /// Notes where the cells of each column lie; cells of a column are neighbours.
    fn locate_cells(&mut self, row: &Row<'_>) {
        let places = &mut self.scratch.cells;
        places.clear();
        places.resize(self.plan.table.columns.len(), (0, 0));
        for (index, cell) in (0_u32..).zip(&row.cells) {
            if let Some((start, end)) = places.get_mut(cell.column as usize) {
                if *end == 0 {
                    *start = index;
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

    fn has_cells(&self, column: usize, row: &Row<'_>) -> bool {
        !self.cells_of(column, row).is_empty() || is_overwritten(column, row)
    }

    fn written_column(
        &mut self,
        index: usize,
        column: &Column,
        row: &Row<'_>,
    ) -> Result<(), ValueError> {
        let cells = self.cells_of(index, row);
        if column.multi_cell {
            return self.written_elements(&column.cql_type, cells);
        }
        let Some(cell) = cells.first() else {
            self.raw(b"null");
            return Ok(());
        };
        match cell.state {
            CellState::Live if column.cql_type == CqlType::Counter => {
                let place = self
                    .shards
                    .iter()
                    .find(|(column, _)| *column == cell.column);
                let shards = place.map_or(&[][..], |(_, shards)| shards.as_slice());
                write_shards(self.out, shards);
                Ok(())
            }
            CellState::Live => self.live_value(&column.cql_type, cell.value),
            CellState::Expiring(expiry) => {
                self.raw(b"{\"value\":");
                self.json(&column.cql_type, cell.value)?;
                self.raw(b",\"deletion_ts\":");
                self.number(i128::from(expiry.local_deletion_time.0) * 1_000_000);
                self.raw(b",\"set\":true}");
                Ok(())
            }
            CellState::Tombstone(_) => {
                self.raw(b"{\"value\":null,\"deletion_ts\":null,\"set\":true}");
                Ok(())
            }
        }
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
        self.raw(b"{\"value\":");
        // A user type that is deleted whole has no fields left to show.
        let removed = if cells.is_empty() && matches!(cql_type, CqlType::Udt(_)) {
            self.raw(b"null");
            0
        } else {
            write_multi_cell(self.out, cql_type, elements(), modes)?
        };
        self.raw(b",\"deletion_ts\":null,\"set\":true");
        if removed > 0 {
            self.raw(b",\"removed\":");
            write_removed(self.out, cql_type, elements(), modes)?;
        }
        self.raw(b"}");
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
