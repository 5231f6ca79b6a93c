//! Ids and times of transactions (`accord.primitives.Timestamp`, `TxnId`).

use super::bytes;
use crate::cursor::Cursor;
use crate::error::Result;

/// `Txn.Kind.Write`.
const WRITE: u8 = 1;

/// Epoch, hybrid logical clock, flags and node, packed as in the journal's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxnId {
    msb: u64,
    lsb: u64,
    node: u32,
}

impl TxnId {
    /// Parses the 20 bytes of a key: epoch (49 bits), clock (63), flags (16) and node (32).
    pub fn of_bits(bits: &[u8]) -> Option<Self> {
        let (msb, rest) = bits.split_first_chunk::<8>()?;
        let (lsb, node) = rest.split_first_chunk::<8>()?;
        Some(Self {
            msb: u64::from_be_bytes(*msb),
            lsb: u64::from_be_bytes(*lsb),
            node: u32::from_be_bytes(*node.first_chunk::<4>()?),
        })
    }

    pub fn bits(&self) -> [u8; 20] {
        let bits = u128::from(self.msb) << 64 | u128::from(self.lsb);
        let mut bytes = [0; 20];
        let (high, low) = bytes.split_at_mut(16);
        high.copy_from_slice(&bits.to_be_bytes());
        low.copy_from_slice(&self.node.to_be_bytes());
        bytes
    }

    /// The hybrid logical clock in microseconds.
    pub fn clock_us(&self) -> i64 {
        ((self.msb & 0x7fff) << 48 | self.lsb >> 16) as i64
    }

    /// Whether the transaction may write; other kinds are reads and sync points.
    pub fn is_write(&self) -> bool {
        (self.lsb as u8 >> 1) & 0b111 == WRITE
    }

    /// Whether the transaction covers ranges, not keys.
    pub fn is_range(&self) -> bool {
        self.lsb & 1 != 0
    }
}

/// Skips a timestamp (`VariableWidthTimestampSerializer`); returns its clock, or `None` for a
/// special value.
pub fn clock(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    let lengths = cursor.u8()?;
    if lengths >= 0x80 {
        return Ok(None);
    }
    let length = |shift: u8, mask: u8, least: u8| usize::from(least + (lengths >> shift & mask));
    cursor.bytes(length(5, 0b11, 3))?;
    let clock = bytes::number(cursor, length(3, 0b11, 5))?;
    cursor.bytes(length(2, 0b1, 1))?;
    cursor.bytes(length(0, 0b11, 1))?;
    Ok(Some(clock))
}

/// Reads the unique clock of an `executeAt`: the write time. It is stored relative to `base`, the
/// clock of the transaction id (`ExecuteAtSerializer`).
pub fn execution_clock(cursor: &mut Cursor<'_>, base: u64) -> Result<u64> {
    let flags = cursor.uvint()?;
    if flags & 1 == 0 {
        return Ok(base);
    }
    if flags & 4 != 0 && cursor.uvint()? == 0 {
        return Ok(0);
    }
    let clock = base.wrapping_add(cursor.uvint()?);
    cursor.uvint()?;
    if flags & 2 == 0 {
        return Ok(clock);
    }
    Ok(clock.wrapping_add(cursor.uvint()?))
}

/// Skips an `executeAt` that is not relative to a transaction id.
pub fn skip_execution(cursor: &mut Cursor<'_>) -> Result<()> {
    let flags = cursor.uvint()?;
    if cursor.uvint()? == 0 {
        return Ok(());
    }
    cursor.uvint()?;
    cursor.uvint()?;
    // The serializer writes the unique clock only for one class, which also sets this flag.
    if flags & 2 != 0 {
        cursor.uvint()?;
    }
    Ok(())
}
