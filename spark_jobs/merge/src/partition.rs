//! Collects the writes to the partitions of one token, in order of arrival.

use std::collections::HashMap;
use std::ops::Range;

use crate::arena::{Arena, Span};
use crate::version::{Cell, Deletion, Liveness};
use crate::window::Window;

/// The data that all writes of a group share.
#[derive(Debug, Default)]
pub struct Store {
    pub arena: Arena,
    pub cells: Vec<Cell>,
    pub complex: Vec<ComplexDeletion>,
}

/// The deletion of a whole collection or user type in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComplexDeletion {
    pub column: u32,
    pub deletion: Deletion,
}

/// The write of one event or row state to a row, or to the static row.
#[derive(Debug, Clone, Default)]
pub struct RowWrite {
    pub ck: Span,
    /// The list of clustering values, as [`crate::state`] encodes it.
    pub ckv: Option<Span>,
    pub liveness: Option<Liveness>,
    pub deletion: Option<Deletion>,
    /// Indexes in [`Store::cells`].
    pub cells: Range<usize>,
    /// Indexes in [`Store::complex`].
    pub complex: Range<usize>,
    /// The largest write time of a new event; `None` for a write that is not new.
    pub new_us: Option<i64>,
}

/// Deletes the rows whose `ck` is at least `low` and less than `high`.
#[derive(Debug, Clone, Copy)]
pub struct RangeDeletion {
    pub low: Span,
    pub high: Span,
    pub deletion: Deletion,
    pub new_us: Option<i64>,
}

#[derive(Debug, Default)]
pub struct Partition {
    pub pk: Vec<u8>,
    /// Deletions of the whole partition, each with the time of its event if it is new.
    pub deletions: Vec<(Deletion, Option<i64>)>,
    pub ranges: Vec<RangeDeletion>,
    pub statics: Vec<RowWrite>,
    pub rows: Vec<RowWrite>,
}

/// The partitions of one token. Several partition keys may have the same token.
#[derive(Debug, Default)]
pub struct Group {
    pub token: i64,
    pub store: Store,
    pub partitions: Vec<Partition>,
    places: HashMap<Vec<u8>, usize>,
    last: usize,
    /// A reusable buffer for decoding.
    pub scratch: Vec<u8>,
}

impl Group {
    /// Returns the index in `partitions` for a key, and creates the partition if necessary.
    pub fn place_of(&mut self, pk: &[u8]) -> usize {
        if self.partitions.get(self.last).is_some_and(|p| p.pk == pk) {
            return self.last;
        }
        let count = self.partitions.len();
        self.last = *self.places.entry(pk.to_vec()).or_insert(count);
        if self.last == count {
            self.partitions.push(Partition {
                pk: pk.to_vec(),
                ..Partition::default()
            });
        }
        self.last
    }

    /// Sorts partitions by key, rows by clustering key, and ranges by bounds and precedence.
    pub fn sort(&mut self) {
        self.places.clear();
        self.partitions.sort_unstable_by(|a, b| a.pk.cmp(&b.pk));
        let arena = &self.store.arena;
        for partition in &mut self.partitions {
            let rows = &mut partition.rows;
            rows.sort_by(|a, b| arena.get(a.ck).cmp(arena.get(b.ck)));
            let bounds = |range: &RangeDeletion| (arena.get(range.low), arena.get(range.high));
            let ranges = &mut partition.ranges;
            ranges.sort_by(|a, b| {
                let precedence = b.deletion.cmp(&a.deletion);
                bounds(a).cmp(&bounds(b)).then(precedence)
            });
        }
    }

    pub fn clear(&mut self) {
        self.store.arena.clear();
        self.store.cells.clear();
        self.store.complex.clear();
        self.partitions.clear();
        self.places.clear();
        self.last = 0;
    }
}

impl RowWrite {
    /// Removes the liveness and the deletion if they are outside the window.
    #[must_use]
    pub fn clip(self, window: &Window) -> Self {
        let admits = |written_us| window.admits(written_us);
        Self {
            liveness: self.liveness.filter(|liveness| admits(liveness.ts_us)),
            deletion: self.deletion.filter(|d| admits(d.written_us())),
            ..self
        }
    }
}

impl Partition {
    /// The write time up to which deletions of the whole partition delete.
    pub fn deleted_to_us(&self) -> Option<i64> {
        let deletions = self.deletions.iter();
        deletions.map(|(deletion, _)| deletion.ts_us).max()
    }

    /// The writes to the row that begins at `start`; empty at the end.
    pub fn row_writes(&self, start: usize, arena: &Arena) -> &[RowWrite] {
        let rest = self.rows.get(start..).unwrap_or_default();
        let ck = rest.first().map(|row| arena.get(row.ck));
        let count = rest.iter().take_while(|row| Some(arena.get(row.ck)) == ck);
        rest.get(..count.count()).unwrap_or_default()
    }
}
