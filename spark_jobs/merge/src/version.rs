//! Cells, livenesses and deletions as ordered values. The larger value takes precedence.
//!
//! The orders match `Cells#resolveRegular`, `LivenessInfo#supersedes` and
//! `DeletionTime#supersedes`. They are total, so merging takes the maximum.

use std::cmp::{Ordering, Reverse};

use crate::arena::{Arena, Span};

/// The local deletion time of a value that never expires.
pub const NEVER_S: i64 = 1 << 62;

/// The state of a cell. The larger rank takes precedence at equal write times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Live,
    Expiring,
    Tombstone,
    /// The total of one leader of a counter: `path` is the counter id, `ldt_s` the clock.
    Shard,
}

/// A cell of a row.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub column: u32,
    pub rank: Rank,
    /// 0 if the cell does not expire.
    pub ttl_s: i32,
    pub ts_us: i64,
    pub ldt_s: i64,
    /// Empty for a tombstone.
    pub value: Span,
    /// The path of the element, as written.
    pub path: Option<Span>,
    /// A key that is equal for equal elements, if their paths may differ in bytes.
    pub key: Option<Span>,
}

impl Cell {
    /// Compares column and element. Cells of a row with equal places are versions of one cell.
    #[inline]
    pub fn compare_places(&self, other: &Self, arena: &Arena) -> Ordering {
        self.column.cmp(&other.column).then_with(|| {
            let element = |cell: &Self| cell.key.or(cell.path).map(|span| arena.get(span));
            element(self).cmp(&element(other))
        })
    }

    /// Compares two versions of the same cell.
    pub fn compare_precedence(&self, other: &Self, arena: &Arena) -> Ordering {
        let bytes = |span: Option<Span>| span.map(|span| arena.get(span)).unwrap_or_default();
        if self.rank == Rank::Shard && other.rank == Rank::Shard {
            // A leader has only one count per clock; the other members make the order total.
            return (self.ldt_s, self.ts_us)
                .cmp(&(other.ldt_s, other.ts_us))
                .then_with(|| arena.get(self.value).cmp(arena.get(other.value)));
        }
        let times = |cell: &Self| (cell.ts_us, cell.rank, cell.ldt_s, Reverse(cell.ttl_s));
        times(self)
            .cmp(&times(other))
            .then_with(|| arena.get(self.value).cmp(arena.get(other.value)))
            // Cassandra may choose any of several equal elements; the path makes the order total.
            .then_with(|| bytes(self.path).cmp(bytes(other.path)))
    }

    #[inline]
    pub fn is_live(&self, now_s: i64) -> bool {
        match self.rank {
            Rank::Live | Rank::Shard => true,
            Rank::Expiring => now_s < self.ldt_s,
            Rank::Tombstone => false,
        }
    }

    /// Whether the cell was deleted, or expires, before this second.
    pub fn is_purgeable(&self, before_s: i64) -> bool {
        matches!(self.rank, Rank::Expiring | Rank::Tombstone) && self.ldt_s < before_s
    }
}

/// The row marker of an INSERT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    pub ts_us: i64,
    /// 0 if the marker does not expire.
    pub ttl_s: i32,
    pub ldt_s: i64,
}

impl Liveness {
    #[inline]
    pub fn is_live(&self, now_s: i64) -> bool {
        self.ttl_s == 0 || now_s < self.ldt_s
    }

    /// The second at which the marker expires.
    pub fn expiry_s(&self) -> Option<i64> {
        (self.ttl_s != 0).then_some(self.ldt_s)
    }

    pub fn is_purgeable(&self, before_s: i64) -> bool {
        self.ttl_s != 0 && self.ldt_s < before_s
    }

    fn precedence(&self) -> impl Ord + use<> {
        // The TTL has no visible effect; it makes the order total.
        (self.ts_us, self.ttl_s != 0, self.ldt_s, Reverse(self.ttl_s))
    }
}

impl Ord for Liveness {
    fn cmp(&self, other: &Self) -> Ordering {
        self.precedence().cmp(&other.precedence())
    }
}

impl PartialOrd for Liveness {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Deletes all writes up to `ts_us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deletion {
    pub ts_us: i64,
    pub ldt_s: i64,
    /// False if the statement replaced the collection: its own write time is one microsecond later.
    /// At equal times, the plain deletion takes precedence.
    pub is_plain: bool,
}

impl Deletion {
    /// The write time of the statement that caused this deletion.
    pub fn written_us(&self) -> i64 {
        self.ts_us.saturating_add(i64::from(!self.is_plain))
    }

    pub fn is_purgeable(&self, before_s: i64) -> bool {
        self.ldt_s < before_s
    }
}

/// Whether a deletion of all writes up to `deleted_to_us` covers a write at `ts_us`.
#[inline]
pub fn covers(deleted_to_us: Option<i64>, ts_us: i64) -> bool {
    deleted_to_us.is_some_and(|deleted_to_us| ts_us <= deleted_to_us)
}
