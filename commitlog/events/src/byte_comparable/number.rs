use commitlog_core::cql_type::CqlType;

use crate::value::decimal::{Decimal, Integer};
use crate::value::{Result, ValueError};

/// Maximum number of unscaled bytes in a decimal; Cassandra limits clustering values to 65,535.
const MAX_UNSCALED_BYTES: usize = 65_535;
/// Lengths up to this value take one byte.
const MAX_SHORT_LENGTH: usize = 0x70;

const NEGATIVE: u8 = 0x40;
const ZERO: u8 = 0x80;
const POSITIVE: u8 = 0xc0;

/// Writes sign and length, then the shortest two's complement: a longer positive integer is larger,
/// and a longer negative integer is smaller.
pub(super) fn write_varint(out: &mut Vec<u8>, bytes: &[u8]) {
    let integer = Integer::new(bytes);
    let length = integer.bytes().len();
    let invert = if integer.is_negative() { 0xff } else { 0x00 };
    match u8::try_from(length) {
        Ok(short) if length <= MAX_SHORT_LENGTH => out.push((0x80 | short) ^ invert),
        _ => {
            out.push(0xf8 ^ invert);
            let length = (length as u64).to_be_bytes().map(|byte| byte ^ invert);
            out.extend_from_slice(&length);
        }
    }
    out.extend_from_slice(integer.bytes());
}

/// Writes the sign, the power of ten of the first digit, and the digits without trailing zeros.
/// Equal numbers with different scales thus have equal bytes.
pub(super) fn write_decimal(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let decimal = Decimal::parse(bytes)?;
    if decimal.unscaled.is_zero() {
        out.push(ZERO);
        return Ok(());
    }
    if decimal.unscaled.bytes().len() > MAX_UNSCALED_BYTES {
        let expected = "at most 65,539";
        return Err(ValueError::length(&CqlType::Decimal, expected, bytes.len()));
    }
    let is_negative = decimal.unscaled.is_negative();
    out.push(if is_negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    let mut text = Vec::new();
    decimal.unscaled.write_digits(&mut text);
    let power = (text.len() as i64).saturating_sub(i64::from(decimal.scale));
    let significant = text.iter().rposition(|digit| *digit != b'0');
    text.truncate(significant.map_or(0, |last| last.saturating_add(1)));
    write_varint(out, &power.to_be_bytes());
    // Two digits per byte, starting at 01 for "00"; 00 ends the digits.
    out.extend(text.chunks(2).map(|pair| {
        let mut digits = pair.iter().map(|digit| digit.wrapping_sub(b'0'));
        let tens = digits.next().unwrap_or(0);
        let ones = digits.next().unwrap_or(0);
        tens.saturating_mul(10)
            .saturating_add(ones)
            .saturating_add(1)
    }));
    out.push(0x00);
    if is_negative {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
    Ok(())
}
