//! `decimal` and `varint`: integers of any length, with and without a scale.

mod integer;

use commitlog_core::cql_type::CqlType;

use super::{MAX_DIGITS, Result, ValueError};

pub use integer::Integer;

/// Powers of ten up to this exponent are exact doubles, so one operation rounds correctly.
const EXACT_POWER: usize = 22;

const POWERS_OF_TEN: [f64; EXACT_POWER + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A `decimal`: `unscaled × 10^-scale`.
#[derive(Debug, Clone, Copy)]
pub struct Decimal<'a> {
    pub scale: i32,
    pub unscaled: Integer<'a>,
}

impl<'a> Decimal<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        match bytes.split_first_chunk() {
            Some((scale, unscaled)) if !unscaled.is_empty() => Ok(Self {
                scale: i32::from_be_bytes(*scale),
                unscaled: Integer::new(unscaled),
            }),
            _ => Err(ValueError::length(
                &CqlType::Decimal,
                "at least 5",
                bytes.len(),
            )),
        }
    }

    /// Returns the nearest double, half to even, or infinity (`BigDecimal#doubleValue`).
    ///
    /// The work is bounded: the scale adds no digits, and a number with more than [`MAX_DIGITS`]
    /// digits is an error if it is in the range of doubles. `scratch` remains unchanged.
    pub fn to_f64(self, scratch: &mut Vec<u8>) -> Result<f64> {
        let number = self.unscaled.to_i128();
        if let Some(double) = number.and_then(|number| exact_quotient(number, self.scale)) {
            return Ok(double);
        }
        if let Some(double) = self.beyond_doubles() {
            return Ok(double);
        }
        self.unscaled.check_digits(&CqlType::Decimal)?;
        let start = scratch.len();
        self.unscaled.write_text(scratch);
        scratch.push(b'e');
        let exponent = -i64::from(self.scale);
        scratch.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
        let double = scratch
            .get(start..)
            .and_then(|text| std::str::from_utf8(text).ok())
            .and_then(|text| text.parse().ok());
        scratch.truncate(start);
        // Digits and an exponent always parse.
        Ok(double.unwrap_or(f64::NAN))
    }

    /// Returns infinity or zero for a long number that is far beyond the range of doubles.
    fn beyond_doubles(self) -> Option<f64> {
        let bytes = self.unscaled.bytes().len() as i64;
        // Estimates the number of digits, within 5.
        let digits = bytes.saturating_mul(8 * 30_103) / 100_000;
        let double = match digits.saturating_sub(i64::from(self.scale)) {
            _ if bytes <= 16 => return None,
            320.. => f64::INFINITY,
            ..=-340 => 0.0,
            _ => return None,
        };
        Some(if self.unscaled.is_negative() {
            -double
        } else {
            double
        })
    }

    /// Writes digits without an exponent (`BigDecimal#toPlainString`).
    pub fn write_plain(self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let written = self.try_write_plain(out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn try_write_plain(self, out: &mut Vec<u8>) -> Result<()> {
        let shift = u64::from(self.scale.unsigned_abs());
        if self.scale > 0 {
            check_digits(shift.saturating_add(1))?;
        }
        self.unscaled.check_digits(&CqlType::Decimal)?;
        if self.unscaled.is_negative() {
            out.push(b'-');
        }
        let start = out.len();
        self.unscaled.write_digits(out);
        let digits = out.len().saturating_sub(start);
        if self.scale <= 0 {
            if !self.unscaled.is_zero() {
                check_digits(shift.saturating_add(digits as u64))?;
                out.resize(out.len().saturating_add(shift as usize), b'0');
            }
            return Ok(());
        }
        let fraction = shift as usize;
        if digits > fraction {
            out.insert(out.len().saturating_sub(fraction), b'.');
        } else {
            let zeros = std::iter::repeat_n(b'0', fraction.saturating_sub(digits));
            out.splice(start..start, [b'0', b'.'].into_iter().chain(zeros));
        }
        Ok(())
    }

    /// Writes plain digits if the scale is not negative and at most six zeros come first. Otherwise
    /// writes one digit, a point, the other digits and an exponent (`BigDecimal#toString`).
    pub fn write_java(self, out: &mut Vec<u8>) -> Result<()> {
        self.unscaled.check_digits(&CqlType::Decimal)?;
        let start = out.len();
        self.unscaled.write_digits(out);
        let fraction = out.len().saturating_sub(start).saturating_sub(1);
        let exponent = (fraction as i64).saturating_sub(i64::from(self.scale));
        if self.scale >= 0 && exponent >= -6 {
            out.truncate(start);
            return self.write_plain(out);
        }
        if fraction > 0 {
            out.insert(start.saturating_add(1), b'.');
        }
        if self.unscaled.is_negative() {
            out.insert(start, b'-');
        }
        if exponent != 0 {
            out.extend_from_slice(if exponent > 0 { b"E+" } else { b"E" });
            out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
        }
        Ok(())
    }
}

fn check_digits(digits: u64) -> Result<()> {
    if digits > MAX_DIGITS {
        return Err(ValueError::digits(&CqlType::Decimal, digits));
    }
    Ok(())
}

fn exact_quotient(number: i128, scale: i32) -> Option<f64> {
    let number = i64::try_from(number).ok()?;
    if number.unsigned_abs() > 1 << 53 {
        return None;
    }
    let power = POWERS_OF_TEN.get(scale.unsigned_abs() as usize)?;
    #[allow(clippy::cast_precision_loss)] // At most 2^53, so nothing is lost.
    let double = number as f64;
    Some(if scale < 0 {
        double * power
    } else {
        double / power
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests;
