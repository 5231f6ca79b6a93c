//! Row states: the versions of one row, or of the partition level, in a compact binary form.
//!
//! A state has all that a merge needs, so that the merge of states equals the merge of their
//! events. Numbers are LEB128 ([`crate::leb128`]), signed ones in zigzag order; `bytes` are a
//! length and as many bytes; `list` is a count and as many items.
//!
//! ```text
//! state      version 01 | level (00 row, 01 partition) | bytes(pk) | row: bytes(ck) clustering
//!            | list(liveness) | list(deletion) | partition: list(range) | list(column)
//! clustering list of: 0 for a null, else the length plus one and as many bytes
//! liveness   time | ttl | expiry if the ttl is not 0
//! deletion   time | expiry
//! range      bytes(low) | bytes(high) | deletion
//! column     bytes(name) | list(complex) | list(cell)
//! complex    00, or 01 for the deletion of a replaced collection | deletion
//! cell       flags: 0-2 live, expiring, tombstone; 3 shard; 04 a path, 08 a key, 10 equal time
//!            | time unless equal | bytes(path) | bytes(key)
//!            | expiring: ttl, expiry, bytes(value) | tombstone: expiry | live: bytes(value)
//! shard      flags 03, or 13 | time unless equal | counter id (16) | clock | count (8)
//! time       microseconds, signed: the difference from the time before it in the state
//! expiry     seconds, signed: the difference from the expiry before it in the state
//! ```
//!
//! The partition level has the deletion of the partition, its ranges and its static cells. Times
//! and expiries begin at 0, and differences wrap around. Columns are in the order of their names.

use crate::arena::Span;
use crate::columns::Columns;
use crate::error::{MergeError, Result};
use crate::leb128;
use crate::partition::{ComplexDeletion, Group, RangeDeletion, RowWrite, Store};
use crate::version::{Cell, Deletion, Liveness, NEVER_S, Rank};
use crate::window::Window;

const VERSION: u8 = 1;
const RANK: u8 = 0x03;
const HAS_PATH: u8 = 0x04;
const HAS_KEY: u8 = 0x08;
const EQUAL_TIME: u8 = 0x10;
const COUNTER_ID_BYTES: usize = 16;
const COUNT_BYTES: usize = 8;

/// The versions of a row, or of the partition level without `ck`.
#[derive(Debug, Default)]
pub struct Versions {
    pub ck: Option<Span>,
    pub ckv: Option<Span>,
    pub livenesses: Vec<Liveness>,
    pub deletions: Vec<Deletion>,
    pub ranges: Vec<RangeDeletion>,
    /// In the order of columns.
    pub complex: Vec<ComplexDeletion>,
    /// Places in [`Store::cells`], in the order of columns.
    pub cells: Vec<usize>,
}

impl Versions {
    pub fn clear(&mut self) {
        self.ck = None;
        self.ckv = None;
        self.livenesses.clear();
        self.deletions.clear();
        self.ranges.clear();
        self.complex.clear();
        self.cells.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.livenesses.is_empty()
            && self.deletions.is_empty()
            && self.ranges.is_empty()
            && self.complex.is_empty()
            && self.cells.is_empty()
    }

    /// Appends the state of these versions.
    pub fn encode(&mut self, pk: &[u8], store: &Store, columns: &Columns, state: &mut Vec<u8>) {
        let mut writer = Writer {
            state,
            last_ts_us: 0,
            last_ldt_s: 0,
        };
        writer.state.push(VERSION);
        writer.state.push(u8::from(self.ck.is_none()));
        writer.bytes(pk);
        if let Some(ck) = self.ck {
            writer.bytes(store.arena.get(ck));
            match self.ckv {
                Some(ckv) => writer.state.extend_from_slice(store.arena.get(ckv)),
                None => writer.count(0),
            }
        }
        writer.count(self.livenesses.len());
        for liveness in &self.livenesses {
            writer.time(liveness.ts_us);
            writer.count(liveness.ttl_s.unsigned_abs() as usize);
            if liveness.ttl_s != 0 {
                writer.expiry(liveness.ldt_s);
            }
        }
        writer.count(self.deletions.len());
        for deletion in &self.deletions {
            writer.deletion(deletion);
        }
        if self.ck.is_none() {
            writer.count(self.ranges.len());
            for range in &self.ranges {
                writer.bytes(store.arena.get(range.low));
                writer.bytes(store.arena.get(range.high));
                writer.deletion(&range.deletion);
            }
        }
        self.encode_columns(store, columns, &mut writer);
    }

    fn encode_columns(&mut self, store: &Store, columns: &Columns, writer: &mut Writer<'_>) {
        let column_of = |at: &usize| store.cells.get(*at).map_or(0, |cell| cell.column);
        let of_cells = self.cells.iter().map(column_of);
        let mut ids: Vec<u32> = self.complex.iter().map(|complex| complex.column).collect();
        ids.extend(of_cells);
        ids.sort_unstable();
        ids.dedup();
        if ids
            .last()
            .is_some_and(|id| !columns.is_in_order_of_names(*id))
        {
            ids.sort_by(|a, b| columns.name(*a).cmp(columns.name(*b)));
        }
        writer.count(ids.len());
        for id in ids {
            writer.bytes(columns.name(id).as_bytes());
            let first = self.complex.partition_point(|complex| complex.column < id);
            let complex = self.complex.get(first..).unwrap_or_default();
            let count = complex.partition_point(|complex| complex.column == id);
            writer.count(count);
            for complex in complex.iter().take(count) {
                writer.state.push(u8::from(!complex.deletion.is_plain));
                writer.deletion(&complex.deletion);
            }
            let first = self.cells.partition_point(|at| column_of(at) < id);
            let cells = self.cells.get(first..).unwrap_or_default();
            let count = cells.partition_point(|at| column_of(at) == id);
            writer.count(count);
            for cell in cells
                .iter()
                .take(count)
                .filter_map(|at| store.cells.get(*at))
            {
                writer.cell(cell, store);
            }
        }
    }
}

struct Writer<'s> {
    state: &'s mut Vec<u8>,
    last_ts_us: i64,
    last_ldt_s: i64,
}

impl Writer<'_> {
    fn count(&mut self, count: usize) {
        leb128::write(self.state, count as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.state.extend_from_slice(bytes);
    }

    fn time(&mut self, ts_us: i64) {
        leb128::write_signed(self.state, ts_us.wrapping_sub(self.last_ts_us));
        self.last_ts_us = ts_us;
    }

    fn expiry(&mut self, ldt_s: i64) {
        leb128::write_signed(self.state, ldt_s.wrapping_sub(self.last_ldt_s));
        self.last_ldt_s = ldt_s;
    }

    fn deletion(&mut self, deletion: &Deletion) {
        self.time(deletion.ts_us);
        self.expiry(deletion.ldt_s);
    }

    fn cell(&mut self, cell: &Cell, store: &Store) {
        let is_shard = cell.rank == Rank::Shard;
        let mut flags = match cell.rank {
            Rank::Live => 0,
            Rank::Expiring => 1,
            Rank::Tombstone => 2,
            Rank::Shard => 3,
        };
        if cell.path.is_some() && !is_shard {
            flags |= HAS_PATH;
        }
        if cell.key.is_some() {
            flags |= HAS_KEY;
        }
        let is_equal = cell.ts_us == self.last_ts_us;
        if is_equal {
            flags |= EQUAL_TIME;
        }
        self.state.push(flags);
        if !is_equal {
            self.time(cell.ts_us);
        }
        if is_shard {
            let id = cell.path.map(|path| store.arena.get(path));
            self.state.extend_from_slice(id.unwrap_or_default());
            leb128::write_signed(self.state, cell.ldt_s);
            self.state.extend_from_slice(store.arena.get(cell.value));
            return;
        }
        for element in [cell.path, cell.key].into_iter().flatten() {
            self.bytes(store.arena.get(element));
        }
        match cell.rank {
            Rank::Expiring => {
                self.count(cell.ttl_s.unsigned_abs() as usize);
                self.expiry(cell.ldt_s);
                self.bytes(store.arena.get(cell.value));
            }
            Rank::Tombstone => self.expiry(cell.ldt_s),
            _ => self.bytes(store.arena.get(cell.value)),
        }
    }
}

/// Adds the versions in a state to their partition. `is_new`: they are part of the changes.
///
/// # Errors
/// [`MergeError::State`] for other bytes.
pub fn add_state(
    group: &mut Group,
    columns: &mut Columns,
    window: &Window,
    state: &[u8],
    is_new: bool,
) -> Result<()> {
    let token = group.token;
    let mut reader = Reader {
        rest: state,
        last_ts_us: 0,
        last_ldt_s: 0,
        largest_ts_us: i64::MIN,
    };
    let read = reader.add(group, columns, window, is_new);
    let what = match read {
        Some(()) if reader.rest.is_empty() => return Ok(()),
        Some(()) => "it has bytes after its end",
        None if state.first() != Some(&VERSION) => "its version is unknown",
        None => "its bytes are cut or changed",
    };
    Err(MergeError::State { token, what })
}

struct Reader<'s> {
    rest: &'s [u8],
    last_ts_us: i64,
    last_ldt_s: i64,
    largest_ts_us: i64,
}

impl<'s> Reader<'s> {
    fn add(
        &mut self,
        group: &mut Group,
        columns: &mut Columns,
        window: &Window,
        is_new: bool,
    ) -> Option<()> {
        if self.byte()? != VERSION {
            return None;
        }
        let is_row = match self.byte()? {
            0 => true,
            1 => false,
            _ => return None,
        };
        let place = group.place_of(self.bytes()?);
        let mut row = RowWrite::default();
        if is_row {
            row.ck = group.store.arena.push(self.bytes()?);
            row.ckv = Some(group.store.arena.push(self.clustering()?));
        }
        let livenesses = self.list(Self::liveness)?;
        let deletions = self.list(Self::deletion)?;
        let mut ranges = Vec::new();
        if !is_row {
            for _ in 0..self.count()? {
                ranges.push(RangeDeletion {
                    low: group.store.arena.push(self.bytes()?),
                    high: group.store.arena.push(self.bytes()?),
                    deletion: self.deletion()?,
                    new_us: None,
                });
            }
        }
        let (first_cell, first_complex) = (group.store.cells.len(), group.store.complex.len());
        for _ in 0..self.count()? {
            self.column(&mut group.store, columns, window)?;
        }
        row.cells = first_cell..group.store.cells.len();
        row.complex = first_complex..group.store.complex.len();
        row.new_us = is_new.then_some(self.largest_ts_us);
        let partition = group.partitions.get_mut(place)?;
        if is_row {
            // A superseded state may have several livenesses and deletions.
            for at in 0..livenesses.len().max(deletions.len()).max(1) {
                let write = RowWrite {
                    liveness: livenesses.get(at).copied(),
                    deletion: deletions.get(at).copied(),
                    ..row.clone()
                };
                partition.rows.push(write.within(window));
                row.cells = 0..0;
                row.complex = 0..0;
            }
            return Some(());
        }
        let admitted = |deletion: &Deletion| window.admits(deletion.written_us());
        let deletions = deletions.into_iter().filter(admitted);
        partition
            .deletions
            .extend(deletions.map(|d| (d, row.new_us)));
        let ranges = ranges.into_iter().filter(|range| admitted(&range.deletion));
        partition.ranges.extend(ranges.map(|range| RangeDeletion {
            new_us: row.new_us,
            ..range
        }));
        if !row.cells.is_empty() || !row.complex.is_empty() {
            partition.statics.push(row);
        }
        Some(())
    }

    fn column(&mut self, store: &mut Store, columns: &mut Columns, window: &Window) -> Option<()> {
        let column = columns.id(std::str::from_utf8(self.bytes()?).ok()?);
        for _ in 0..self.count()? {
            let is_plain = match self.byte()? {
                0 => true,
                1 => false,
                _ => return None,
            };
            let deletion = Deletion {
                is_plain,
                ..self.deletion()?
            };
            if window.admits(deletion.written_us()) {
                store.complex.push(ComplexDeletion { column, deletion });
            }
        }
        for _ in 0..self.count()? {
            let cell = self.cell(column, store)?;
            if window.admits(cell.ts_us) {
                store.cells.push(cell);
            }
        }
        Some(())
    }

    fn cell(&mut self, column: u32, store: &mut Store) -> Option<Cell> {
        let flags = self.byte()?;
        if flags & !(RANK | HAS_PATH | HAS_KEY | EQUAL_TIME) != 0 {
            return None;
        }
        if flags & EQUAL_TIME == 0 {
            self.time()?;
        }
        let arena = &mut store.arena;
        let mut cell = Cell {
            column,
            rank: Rank::Live,
            ttl_s: 0,
            ts_us: self.last_ts_us,
            ldt_s: NEVER_S,
            value: Span::default(),
            path: None,
            key: None,
        };
        self.largest_ts_us = self.largest_ts_us.max(cell.ts_us);
        if flags & RANK == RANK {
            cell.rank = Rank::Shard;
            cell.path = Some(arena.push(self.take(COUNTER_ID_BYTES)?));
            cell.ldt_s = leb128::read_signed(&mut self.rest)?;
            cell.value = arena.push(self.take(COUNT_BYTES)?);
            return (flags & (HAS_PATH | HAS_KEY) == 0).then_some(cell);
        }
        if flags & HAS_PATH != 0 {
            cell.path = Some(arena.push(self.bytes()?));
        }
        if flags & HAS_KEY != 0 {
            cell.key = Some(arena.push(self.bytes()?));
        }
        match flags & RANK {
            1 => {
                cell.rank = Rank::Expiring;
                cell.ttl_s = self.ttl().filter(|ttl_s| *ttl_s > 0)?;
                cell.ldt_s = self.expiry()?;
            }
            2 => {
                cell.rank = Rank::Tombstone;
                cell.ldt_s = self.expiry()?;
                return Some(cell);
            }
            _ => {}
        }
        cell.value = arena.push(self.bytes()?);
        Some(cell)
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn count(&mut self) -> Option<usize> {
        leb128::read(&mut self.rest)?.try_into().ok()
    }

    fn take(&mut self, length: usize) -> Option<&'s [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn bytes(&mut self) -> Option<&'s [u8]> {
        let length = self.count()?;
        self.take(length)
    }

    /// The whole list of clustering values, as it is.
    fn clustering(&mut self) -> Option<&'s [u8]> {
        let start = self.rest;
        for _ in 0..self.count()? {
            let length = self.count()?;
            self.take(length.saturating_sub(1))?;
        }
        start.get(..start.len().checked_sub(self.rest.len())?)
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        for _ in 0..self.count()? {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn time(&mut self) -> Option<i64> {
        let difference = leb128::read_signed(&mut self.rest)?;
        self.last_ts_us = self.last_ts_us.wrapping_add(difference);
        self.largest_ts_us = self.largest_ts_us.max(self.last_ts_us);
        Some(self.last_ts_us)
    }

    fn expiry(&mut self) -> Option<i64> {
        let difference = leb128::read_signed(&mut self.rest)?;
        self.last_ldt_s = self.last_ldt_s.wrapping_add(difference);
        Some(self.last_ldt_s)
    }

    fn ttl(&mut self) -> Option<i32> {
        leb128::read(&mut self.rest)?.try_into().ok()
    }

    fn liveness(&mut self) -> Option<Liveness> {
        let ts_us = self.time()?;
        let ttl_s = self.ttl()?;
        let ldt_s = if ttl_s == 0 { NEVER_S } else { self.expiry()? };
        Some(Liveness {
            ts_us,
            ttl_s,
            ldt_s,
        })
    }

    fn deletion(&mut self) -> Option<Deletion> {
        Some(Deletion {
            ts_us: self.time()?,
            ldt_s: self.expiry()?,
            is_plain: true,
        })
    }
}

/// The values in a list of clustering values.
pub fn clustering_values(list: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = list;
    let count = leb128::read(&mut rest).unwrap_or(0);
    (0..count).map_while(move |_| {
        let length = usize::try_from(leb128::read(&mut rest)?).ok()?;
        let (value, after) = rest.split_at_checked(length.saturating_sub(1))?;
        rest = after;
        Some((length > 0).then_some(value))
    })
}
