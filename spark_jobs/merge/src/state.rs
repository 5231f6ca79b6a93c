//! Row states: the versions of one row, or of the partition level, in a compact binary form.
//!
//! A state contains everything that a merge needs, so merging states equals merging their events.
//! Numbers are LEB128 ([`crate::leb128`]), with zigzag encoding for signed numbers. `bytes` is a
//! length followed by that many bytes; `list` is a count followed by that many items.
//!
//! ```text
//! state      version 01 | level (00 row, 01 partition) | bytes(pk) | row: bytes(ck) clustering
//!            | list(liveness) | list(deletion) | partition: list(range) | list(column)
//! clustering list of: 0 for a null, else the length plus one, followed by the bytes
//! liveness   time | ttl | expiry if the ttl is not 0
//! deletion   time | expiry
//! range      bytes(low) | bytes(high) | deletion
//! column     bytes(name) | list(complex) | list(cell)
//! complex    00, or 01 for the deletion of a replaced collection | deletion
//! cell       flags: 0-2 live, expiring, tombstone; 3 shard; 04 path, 08 key, 10 equal time
//!            | time unless equal | bytes(path) | bytes(key)
//!            | expiring: ttl, expiry, bytes(value) | tombstone: expiry | live: bytes(value)
//! shard      flags 03, or 13 | time unless equal | counter id (16) | clock | count (8)
//! time       microseconds, signed: the difference from the previous time in the state
//! expiry     seconds, signed: the difference from the previous expiry in the state
//! ```
//!
//! The partition level contains the deletion of the partition, its ranges and its static cells.
//! Times and expiries start from 0, and differences wrap around. Columns are ordered by name.

mod reader;
mod writer;

use crate::arena::Span;
use crate::leb128;
use crate::partition::{ComplexDeletion, RangeDeletion};
use crate::version::{Deletion, Liveness};

pub use reader::add_state;

const VERSION: u8 = 1;
const RANK: u8 = 0x03;
const HAS_PATH: u8 = 0x04;
const HAS_KEY: u8 = 0x08;
const EQUAL_TIME: u8 = 0x10;
const COUNTER_ID_BYTES: usize = 16;
const COUNT_BYTES: usize = 8;

/// The versions of a row, or of the partition level if `ck` is `None`.
#[derive(Debug, Default)]
pub struct Versions {
    pub ck: Option<Span>,
    pub ckv: Option<Span>,
    pub livenesses: Vec<Liveness>,
    pub deletions: Vec<Deletion>,
    pub ranges: Vec<RangeDeletion>,
    /// Ordered by column.
    pub complex: Vec<ComplexDeletion>,
    /// Indexes in [`Store::cells`], ordered by column.
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
}

/// Decodes a list of clustering values.
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
