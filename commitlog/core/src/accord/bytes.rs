//! Encodings shared by Accord's serializers: numbers, ids and keys.

use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};
use crate::table_id::TableId;

/// Marks the compact form of an id that Cassandra 6.0 derived from an epoch.
const COMPACT: u8 = 0x90;

/// Reads a big-endian number of at most eight bytes.
pub fn number(cursor: &mut Cursor<'_>, length: usize) -> Result<u64> {
    let bytes = cursor.bytes(length)?;
    Ok(bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

pub fn boolean(cursor: &mut Cursor<'_>) -> Result<bool> {
    Ok(cursor.u8()? != 0)
}

/// `TableId.deserializeCompact`; `comparable` means that the sign bits are flipped.
pub fn table_id(cursor: &mut Cursor<'_>, comparable: bool) -> Result<TableId> {
    let sign = if comparable { 1 << 63 } else { 0 };
    let first = cursor.u8()?;
    if first & 0xf0 == COMPACT {
        let lsb = number(cursor, usize::from(first & 0xf))?;
        return Ok(TableId::from_epoch(lsb ^ sign));
    }
    let msb = u128::from(number(cursor, 8)? ^ sign);
    let lsb = u128::from(number(cursor, 8)? ^ sign);
    Ok(TableId((msb << 64 | lsb).to_be_bytes()))
}

/// `SerializePacked.serializedPackedSize`: the byte length of `count` numbers up to `max`.
pub fn packed_size(count: u64, max: u64) -> Result<usize> {
    let bits = u64::from(64 - max.leading_zeros());
    let size = bits.checked_mul(count).map(|bits| bits.div_ceil(8));
    size.and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| DecodeError::out_of_range("number of packed values", count))
}

/// `SerializePacked.deserializePackedSortedIntsAndLength`.
pub fn packed_numbers(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let count = cursor.uvint()?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let last = cursor.uvint()?;
    // The numbers are distinct.
    if count > last.saturating_add(1) {
        return Err(DecodeError::out_of_range("number of packed values", count));
    }
    let packed = cursor.bytes(packed_size(count - 1, last)?)?;
    let bits = 64 - last.leading_zeros() as usize;
    let mut numbers: Vec<u64> = (0..count - 1)
        .map(|index| packed_at(packed, index as usize * bits, bits))
        .collect();
    numbers.push(last);
    Ok(numbers)
}

/// Reads one number. Numbers fill eight-byte big-endian words from the lowest bit; the last word is
/// as short as possible.
fn packed_at(packed: &[u8], start: usize, bits: usize) -> u64 {
    (0..bits).fold(0, |number, bit| {
        let place = start + bit;
        let (word, in_word) = (place / 64, place % 64);
        let start = word * 8;
        let end = packed.len().min(start + 8);
        let byte = end.checked_sub(1 + in_word / 8);
        let byte = byte.and_then(|place| packed.get(place)).copied();
        number | u64::from(byte.unwrap_or(0) >> (in_word % 8) & 1) << bit
    })
}

/// Writes an unsigned vint (`VIntCoding.writeUnsignedVInt`).
pub fn write_uvint(out: &mut Vec<u8>, value: u64) {
    let bits = 64 - (value | 1).leading_zeros();
    // Up to eight bytes hold seven bits of the value each; nine bytes hold all 64.
    let extra = if bits > 56 { 8 } else { (bits - 1) / 7 };
    let bytes = value.to_be_bytes();
    let start = out.len();
    if extra == 8 {
        out.push(0xff);
    }
    let used = if extra == 8 { 8 } else { extra as usize + 1 };
    out.extend_from_slice(bytes.get(8 - used..).unwrap_or_default());
    if extra < 8
        && let Some(first) = out.get_mut(start)
    {
        *first |= !(0xff_u8 >> extra);
    }
}

pub fn write_vbytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_uvint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vints_round_trip() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                write_uvint(&mut out, value);
                let mut cursor = Cursor::new(&out);
                assert_eq!(cursor.uvint(), Ok(value));
                assert!(cursor.rest().is_empty());
            }
        }
    }

    #[test]
    fn packed_numbers_start_with_low_bits() {
        // Three numbers, the last one 5: two of three bits in one byte.
        assert_eq!(
            packed_numbers(&mut Cursor::new(&[3, 5, 0b10_001])),
            Ok(vec![1, 2, 5])
        );
        assert_eq!(packed_numbers(&mut Cursor::new(&[0])), Ok(vec![]));
        assert_eq!(packed_numbers(&mut Cursor::new(&[1, 0])), Ok(vec![0]));
    }

    #[test]
    fn compact_table_ids_are_read() {
        let id = TableId::from_epoch(4);
        let plain = [0x91, 4];
        assert_eq!(table_id(&mut Cursor::new(&plain), false), Ok(id));
        let comparable = [0x98, 0x80, 0, 0, 0, 0, 0, 0, 4];
        assert_eq!(table_id(&mut Cursor::new(&comparable), true), Ok(id));
    }
}
