use commitlog_core::cql_type::CqlType;

use super::number;
use crate::value::{Result, ValueError, fixed};

/// Writes a non-empty value of a type without elements.
pub(super) fn write_scalar(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8]) -> Result<()> {
    match ty {
        CqlType::Boolean => {
            let [byte] = fixed(ty, bytes)?;
            out.push(u8::from(byte != 0));
        }
        CqlType::TinyInt => write_signed(out, fixed::<1>(ty, bytes)?),
        CqlType::SmallInt => write_signed(out, fixed::<2>(ty, bytes)?),
        CqlType::Int => write_signed(out, fixed::<4>(ty, bytes)?),
        CqlType::BigInt | CqlType::Timestamp => write_signed(out, fixed::<8>(ty, bytes)?),
        CqlType::Date => out.extend_from_slice(&fixed::<4>(ty, bytes)?),
        CqlType::Time => out.extend_from_slice(&fixed::<8>(ty, bytes)?),
        CqlType::Float => write_f32(out, f32::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Double => write_f64(out, f64::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::VarInt => number::write_varint(out, bytes),
        CqlType::Decimal => number::write_decimal(out, bytes)?,
        CqlType::Uuid => write_uuid(out, u128::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::TimeUuid => write_time_uuid(out, u128::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Inet if !matches!(bytes.len(), 4 | 16) => {
            return Err(ValueError::length(ty, "4 or 16", bytes.len()));
        }
        CqlType::Empty => return Err(ValueError::length(ty, &0, bytes.len())),
        _ => write_bytes(out, bytes),
    }
    Ok(())
}

fn write_signed<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N]) {
    let start = out.len();
    out.extend_from_slice(&bytes);
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

/// Writes a float in Java's order: -∞ … -0.0, 0.0 … ∞, then NaN. All NaNs have equal bytes.
fn write_f32(out: &mut Vec<u8>, number: f32) {
    let bits = if number.is_nan() { f32::NAN } else { number }.to_bits();
    let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    out.extend_from_slice(&(bits ^ flip).to_be_bytes());
}

/// Writes a double in the order of [`write_f32`].
fn write_f64(out: &mut Vec<u8>, number: f64) {
    let bits = if number.is_nan() { f64::NAN } else { number }.to_bits();
    let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
    out.extend_from_slice(&(bits ^ flip).to_be_bytes());
}

/// Writes the version, for version 1 the time, then the rest unsigned (`UUIDType#compareCustom`).
fn write_uuid(out: &mut Vec<u8>, uuid: u128) {
    let (high, low) = halves(uuid);
    let high = if high >> 12 & 0xf == 1 {
        by_time(high)
    } else {
        (high & 0xf000) << 48 | (high & !0xffff) >> 4 | high & 0x0fff
    };
    out.extend_from_slice(&high.to_be_bytes());
    out.extend_from_slice(&low.to_be_bytes());
}

/// Writes the time, then the other bytes as signed (`AbstractTimeUUIDType#compareCustom`).
fn write_time_uuid(out: &mut Vec<u8>, uuid: u128) {
    let (high, low) = halves(uuid);
    out.extend_from_slice(&by_time(high).to_be_bytes());
    out.extend_from_slice(&(low ^ 0x8080_8080_8080_8080).to_be_bytes());
}

fn halves(uuid: u128) -> (u64, u64) {
    ((uuid >> 64) as u64, uuid as u64)
}

/// Reverses a UUID's time fields: version and high bits first, then middle, then low bits.
fn by_time(high: u64) -> u64 {
    high << 48 | (high << 16 & 0xffff_0000_0000) | high >> 32
}

/// Writes unsigned bytes: a zero becomes `00 ff`, and `00 00`, below any other byte, ends them.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut runs = bytes.split(|byte| *byte == 0);
    if let Some(run) = runs.next() {
        out.extend_from_slice(run);
    }
    for run in runs {
        out.extend_from_slice(&[0x00, 0xff]);
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&[0x00, 0x00]);
}
