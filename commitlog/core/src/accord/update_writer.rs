//! Writes a partition update in version 9 of the commit-log format
//! (`PartitionUpdate.PartitionUpdateSerializer`, `UnfilteredSerializer`; format notes §4).

use super::bytes::{write_uvint, write_vbytes};
use crate::columns::ValueLength;
use crate::row::{BoundKind, Cell, CellState, Deletion, Expiry, LocalDeletionTime, Marker, Row};
use crate::schema::{Column, Table};
use crate::times::{DELETION_TIME_EPOCH_S, TIMESTAMP_EPOCH_US};
use crate::unfiltered::{cell_flag, row_flag};

/// Clustering values are written in batches.
const CLUSTERING_BATCH: usize = 32;
/// With this many columns or more, a subset is a list of indexes.
const LARGE_SUBSET: usize = 64;

/// Replaces the write times of an update (`PartitionUpdate.Builder#updateAllTimestamp`).
#[derive(Debug, Clone, Copy)]
pub enum WriteTime {
    /// Replaces all times; deletions get one microsecond less, so that they do not delete writes of
    /// the same transaction.
    Of(i64),
    /// Keeps each write time.
    Kept,
}

impl WriteTime {
    fn of_data(self, timestamp_us: i64) -> i64 {
        match self {
            Self::Of(time) => time,
            Self::Kept => timestamp_us,
        }
    }

    fn of_deletion(self, timestamp_us: i64) -> i64 {
        match self {
            Self::Of(time) => time.wrapping_sub(1),
            Self::Kept => timestamp_us,
        }
    }
}

/// Writes the rows of one update.
pub struct UpdateWriter<'t> {
    pub out: Vec<u8>,
    pub table: &'t Table,
    pub time: WriteTime,
    /// Indexes into [`Table::columns`] in the order of the update's header.
    pub static_columns: &'t [u32],
    pub regular_columns: &'t [u32],
}

impl UpdateWriter<'_> {
    pub fn end(&mut self) {
        self.out.push(row_flag::END_OF_PARTITION);
    }

    pub fn deletion(&mut self, deletion: Deletion) {
        self.timestamp(self.time.of_deletion(deletion.timestamp_us));
        self.local_deletion_time(deletion.local_deletion_time);
    }

    pub fn row(&mut self, row: &Row<'_>) {
        let columns = if row.is_static {
            self.static_columns
        } else {
            self.regular_columns
        };
        // A column that was re-added with a different type has several indexes.
        let actual: Vec<Option<u32>> = (columns.iter())
            .map(|column| self.index_in(row, *column))
            .collect();
        let present: Vec<usize> = (actual.iter().enumerate())
            .filter(|(_, index)| index.is_some())
            .map(|(place, _)| place)
            .collect();
        let mut flags = 0;
        let mut set = |flag: u8, is_set: bool| flags |= if is_set { flag } else { 0 };
        set(row_flag::HAS_TIMESTAMP, row.liveness.is_some());
        let expiry = row.liveness.and_then(|liveness| liveness.expiry);
        set(row_flag::HAS_TTL, expiry.is_some());
        set(row_flag::HAS_DELETION, row.deletion.is_some());
        set(row_flag::HAS_ALL_COLUMNS, present.len() == columns.len());
        set(
            row_flag::HAS_COMPLEX_DELETION,
            !row.complex_deletions.is_empty(),
        );
        set(row_flag::EXTENSION, row.is_static);
        self.out.push(flags);
        if row.is_static {
            self.out.push(row_flag::EXTENDED_IS_STATIC);
        } else {
            self.clustering(&row.clustering);
        }
        if let Some(liveness) = row.liveness {
            self.timestamp(self.time.of_data(liveness.timestamp_us));
            if let Some(expiry) = expiry {
                self.ttl(expiry);
                self.local_deletion_time(expiry.local_deletion_time);
            }
        }
        if let Some(deletion) = row.deletion {
            self.deletion(deletion);
        }
        if present.len() != columns.len() {
            self.subset(&present, columns.len());
        }
        let mut cells = row.cells.as_slice();
        for column in actual.into_iter().flatten() {
            let own = cells.iter().take_while(|cell| cell.column == column);
            let (of_column, rest) = cells.split_at(own.count());
            cells = rest;
            self.column(row, column, of_column);
        }
    }

    /// Returns the index that the row uses for a listed column, or `None` if it is not in the row.
    fn index_in(&self, row: &Row<'_>, column: u32) -> Option<u32> {
        let name = |index: u32| {
            let column = self.table.columns.get(index as usize);
            column.map(|column| column.name.as_str())
        };
        let cells = row.cells.iter().map(|cell| cell.column);
        let deletions = row.complex_deletions.iter().map(|(index, _)| *index);
        (cells.chain(deletions)).find(|index| *index == column || name(*index) == name(column))
    }

    fn column(&mut self, row: &Row<'_>, index: u32, cells: &[Cell<'_>]) {
        let table = self.table;
        let Some(column) = table.columns.get(index as usize) else {
            return;
        };
        if column.multi_cell {
            let mut deletions = row.complex_deletions.iter();
            match deletions.find(|(deleted, _)| *deleted == index) {
                Some((_, deletion)) => self.deletion(*deletion),
                None if row.complex_deletions.is_empty() => {}
                None => self.no_deletion(),
            }
            write_uvint(&mut self.out, cells.len() as u64);
        }
        for cell in cells {
            self.cell(column, cell);
        }
    }

    fn cell(&mut self, column: &Column, cell: &Cell<'_>) {
        let (kind, timestamp_us) = match cell.state {
            CellState::Live => (0, self.time.of_data(cell.timestamp_us)),
            CellState::Expiring(_) => {
                (cell_flag::IS_EXPIRING, self.time.of_data(cell.timestamp_us))
            }
            CellState::Tombstone(_) => (
                cell_flag::IS_DELETED,
                self.time.of_deletion(cell.timestamp_us),
            ),
        };
        let empty = if cell.value.is_empty() {
            cell_flag::HAS_EMPTY_VALUE
        } else {
            0
        };
        self.out.push(kind | empty);
        self.timestamp(timestamp_us);
        match cell.state {
            CellState::Live => {}
            CellState::Tombstone(time) => self.local_deletion_time(time),
            CellState::Expiring(expiry) => {
                self.local_deletion_time(expiry.local_deletion_time);
                self.ttl(expiry);
            }
        }
        if let Some(path) = cell.path {
            write_vbytes(&mut self.out, path);
        }
        if !cell.value.is_empty() {
            let length = if column.multi_cell {
                ValueLength::Prefixed
            } else {
                ValueLength::from_fixed(column.cql_type.fixed_length())
            };
            self.value(length, cell.value);
        }
    }

    pub fn marker(&mut self, marker: &Marker<'_>) {
        self.out.push(row_flag::IS_MARKER);
        let ordinal = (0..8).find(|n| BoundKind::from_ordinal(*n) == Some(marker.kind));
        self.out.push(ordinal.unwrap_or_default());
        let size = marker.clustering.len() as u16;
        self.out.extend_from_slice(&size.to_be_bytes());
        self.clustering(&marker.clustering);
        for deletion in [marker.close, marker.open].into_iter().flatten() {
            self.deletion(deletion);
        }
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) {
        let table = self.table;
        let mut columns = table.clustering.iter();
        for batch in values.chunks(CLUSTERING_BATCH) {
            let header = batch.iter().enumerate().fold(0, |header, (place, value)| {
                let bits = match value {
                    Some([]) => 0b01_u64,
                    Some(_) => 0b00,
                    None => 0b10,
                };
                header | bits << (2 * place)
            });
            write_uvint(&mut self.out, header);
            for value in batch {
                let length = columns.next().and_then(|c| c.cql_type.fixed_length());
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    self.value(ValueLength::from_fixed(length), value);
                }
            }
        }
    }

    fn subset(&mut self, present: &[usize], count: usize) {
        let missing = count - present.len();
        if count < LARGE_SUBSET {
            let all = (1_u64 << count) - 1;
            let bits = present.iter().fold(all, |bits, place| bits & !(1 << place));
            write_uvint(&mut self.out, bits);
            return;
        }
        write_uvint(&mut self.out, missing as u64);
        let lists_present = present.len() < count / 2;
        for place in (0..count).filter(|place| present.contains(place) == lists_present) {
            write_uvint(&mut self.out, place as u64);
        }
    }

    fn value(&mut self, length: ValueLength, value: &[u8]) {
        match length {
            ValueLength::Fixed(_) => self.out.extend_from_slice(value),
            ValueLength::Prefixed => write_vbytes(&mut self.out, value),
        }
    }

    fn timestamp(&mut self, timestamp_us: i64) {
        let delta = timestamp_us.wrapping_sub(TIMESTAMP_EPOCH_US);
        write_uvint(&mut self.out, delta as u64);
    }

    fn local_deletion_time(&mut self, time: LocalDeletionTime) {
        let delta = (time.0 as u32).wrapping_sub(DELETION_TIME_EPOCH_S);
        write_uvint(&mut self.out, u64::from(delta));
    }

    fn ttl(&mut self, expiry: Expiry) {
        write_uvint(&mut self.out, expiry.ttl_s as u64);
    }

    /// `DeletionTime.LIVE`.
    fn no_deletion(&mut self) {
        self.timestamp(i64::MIN);
        self.local_deletion_time(LocalDeletionTime(i64::from(u32::MAX)));
    }
}
