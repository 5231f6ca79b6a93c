//! Skips keys, ranges and dependencies, which precede the fields needed for capture
//! (`service/accord/serializers/KeySerializers`, `CommandSerializers`, `DepsSerializers`).
//!
//! Only Murmur3Partitioner's eight-byte tokens are supported: other partitioners use other lengths,
//! and the bytes do not identify the partitioner.

use super::bytes::{packed_size, table_id};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};

/// A token between two sentinel bytes.
const ROUTING_KEY: usize = 10;

/// `Unseekables.UnseekablesKind`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keys,
    KeyRoute,
    Ranges,
    RangeRoute,
}

impl Kind {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        match cursor.u8()? {
            1 => Ok(Self::Keys),
            2 | 3 => Ok(Self::KeyRoute),
            4 => Ok(Self::Ranges),
            5 | 6 => Ok(Self::RangeRoute),
            other => Err(DecodeError::out_of_range("kind of participants", other)),
        }
    }

    fn is_keys(self) -> bool {
        matches!(self, Self::Keys | Self::KeyRoute)
    }

    /// Skips the elements and a route's home key; returns the number of elements.
    fn skip(self, cursor: &mut Cursor<'_>) -> Result<u64> {
        let width = if self.is_keys() { 1 } else { 2 } * ROUTING_KEY;
        let count = elements(cursor, width)?;
        self.skip_home(cursor)?;
        Ok(count)
    }

    fn skip_home(self, cursor: &mut Cursor<'_>) -> Result<()> {
        let has_home = match self {
            Self::Keys | Self::Ranges => false,
            Self::KeyRoute => cursor.uvint()? == 0,
            Self::RangeRoute => true,
        };
        if has_home {
            table_id(cursor, true)?;
            cursor.bytes(ROUTING_KEY)?;
        }
        Ok(())
    }
}

/// Skips runs of elements, one run for each table (`AbstractSearchableSerializer`).
fn elements(cursor: &mut Cursor<'_>, width: usize) -> Result<u64> {
    let total = cursor.uvint()?;
    let mut left = total;
    while left > 0 {
        let after = cursor.uvint()?;
        let run = left.checked_sub(after).filter(|run| *run > 0);
        let run = run.ok_or_else(|| DecodeError::out_of_range("number of routables", after))?;
        left = after;
        table_id(cursor, true)?;
        let length = (run as usize).checked_mul(width);
        cursor
            .bytes(length.ok_or_else(|| DecodeError::out_of_range("number of routables", run))?)?;
    }
    Ok(total)
}

/// Skips participants of any kind.
fn skip_any(cursor: &mut Cursor<'_>) -> Result<u64> {
    Kind::read(cursor)?.skip(cursor)
}

/// Reads a subset of `superset` elements (`IVersionedWithKeysSerializer`). A bitmap marks the
/// missing elements, or runs list the present elements if `superset` is at least 64.
pub fn subset(cursor: &mut Cursor<'_>, superset: usize) -> Result<Vec<usize>> {
    let encoded = cursor.uvint()?;
    if encoded == 0 {
        return Ok((0..superset).collect());
    }
    if superset < 64 {
        return Ok((0..superset).filter(|i| encoded >> i & 1 == 0).collect());
    }
    let mut places = Vec::new();
    let count = superset.saturating_sub(encoded as usize);
    let mut start = 0;
    while places.len() < count {
        let run = cursor.length()?;
        start = cursor.length()?.saturating_add(start);
        if run == 0 || run > count - places.len() {
            return Err(DecodeError::out_of_range("size of a subset", run as u64));
        }
        places.extend(start..start.saturating_add(run));
    }
    Ok(places)
}

fn skip_subset(cursor: &mut Cursor<'_>, superset: u64) -> Result<()> {
    let kind = Kind::read(cursor)?;
    subset(cursor, superset as usize)?;
    kind.skip_home(cursor)
}

/// `StoreParticipantsSerializer`.
pub fn skip_store_participants(cursor: &mut Cursor<'_>) -> Result<()> {
    const HAS_ROUTE: u8 = 0x01;
    const ROUTE_EQUALS_SUPERSET: u8 = 0x02;
    const HAS_TOUCHED_EQUALS_SUPERSET: u8 = 0x04;
    const TOUCHES_EQUALS_HAS_TOUCHED: u8 = 0x08;
    const OWNS_EQUALS_TOUCHES: u8 = 0x10;
    const EXECUTES_IS_NULL: u8 = 0x20;
    const EXECUTES_IS_OWNS: u8 = 0x40;
    const WAITS_ON_IS_OWNS: u8 = 0x80;

    let flags = cursor.u8()?;
    let kind = Kind::read(cursor)?;
    let superset = kind.skip(cursor)?;
    let is_listed = [
        flags & (HAS_ROUTE | ROUTE_EQUALS_SUPERSET) == HAS_ROUTE,
        flags & HAS_TOUCHED_EQUALS_SUPERSET == 0,
        flags & TOUCHES_EQUALS_HAS_TOUCHED == 0,
        flags & OWNS_EQUALS_TOUCHES == 0,
        flags & (EXECUTES_IS_OWNS | EXECUTES_IS_NULL) == 0,
        flags & (WAITS_ON_IS_OWNS | EXECUTES_IS_NULL) == 0,
    ];
    for _ in is_listed.into_iter().filter(|listed| *listed) {
        if kind.is_keys() {
            skip_subset(cursor, superset)?;
        } else {
            skip_any(cursor)?;
        }
    }
    Ok(())
}

/// `PartialDepsSerializer`.
pub fn skip_dependencies(cursor: &mut Cursor<'_>) -> Result<()> {
    let flags = cursor.uvint()?;
    for (width, by_txn_id) in [(ROUTING_KEY, 0x1), (2 * ROUTING_KEY, 0x2)] {
        let participants = elements(cursor, width)?;
        let txn_ids = skip_txn_ids(cursor)?;
        let (rows, columns) = if flags & by_txn_id == 0 {
            (participants, txn_ids)
        } else {
            (txn_ids, participants)
        };
        skip_relation(cursor, rows, columns)?;
    }
    skip_any(cursor)?;
    Ok(())
}

/// `VariableWidthTimestampSerializer.skipArray`.
fn skip_txn_ids(cursor: &mut Cursor<'_>) -> Result<u64> {
    let count = cursor.uvint()?;
    if count == 0 {
        return Ok(0);
    }
    for _ in 0..4 {
        cursor.uvint()?;
    }
    let mut size = 0_usize;
    for _ in 0..4 {
        let bits = u32::from(cursor.u8()?.min(64));
        let largest = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        size = size.saturating_add(packed_size(count, largest)?);
    }
    cursor.bytes(size)?;
    Ok(count)
}

/// `skipPackedXtoY`.
fn skip_relation(cursor: &mut Cursor<'_>, rows: u64, columns: u64) -> Result<()> {
    let length = cursor.uvint()?;
    let inferred = if rows == 1 {
        columns.saturating_add(1)
    } else {
        rows.saturating_mul(2)
    };
    if (rows <= 1 || columns <= 1) && (length == inferred || rows == 0 || columns == 0) {
        return Ok(());
    }
    let rest = length.saturating_sub(rows);
    cursor.bytes(packed_size(rows, length)?)?;
    cursor.bytes(packed_size(rest, columns.saturating_sub(1))?)?;
    Ok(())
}
