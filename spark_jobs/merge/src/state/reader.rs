//! Decodes the bytes of a state into writes to its partition.

use super::{COUNT_BYTES, COUNTER_ID_BYTES, EQUAL_TIME, HAS_KEY, HAS_PATH, RANK, VERSION};
use crate::arena::Span;
use crate::columns::Columns;
use crate::error::{MergeError, Result};
use crate::leb128;
use crate::partition::{ComplexDeletion, Group, RangeDeletion, RowWrite, Store};
use crate::version::{Cell, Deletion, Liveness, NEVER_S, Rank};
use crate::window::Window;

/// Adds the versions in a state to their partition. With `is_new`, they are changes to evaluate.
///
/// # Errors
/// [`MergeError::State`] for invalid bytes.
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
    let reason = match read {
        Some(()) if reader.rest.is_empty() => return Ok(()),
        Some(()) => "it has bytes after its end",
        None if state.first() != Some(&VERSION) => "its version is unknown",
        None => "its bytes are cut or changed",
    };
    Err(MergeError::State { token, reason })
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
            // A superseded state may contain several livenesses and deletions.
            for index in 0..livenesses.len().max(deletions.len()).max(1) {
                let write = RowWrite {
                    liveness: livenesses.get(index).copied(),
                    deletion: deletions.get(index).copied(),
                    ..row.clone()
                };
                partition.rows.push(write.clip(window));
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

    /// Takes the whole list of clustering values without decoding it.
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
