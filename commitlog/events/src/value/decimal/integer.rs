use commitlog_core::cql_type::CqlType;

use super::super::{MAX_DIGITS, Result, ValueError};

/// An integer in the shortest big-endian two's complement, with at least one byte.
#[derive(Debug, Clone, Copy)]
pub struct Integer<'a>(&'a [u8]);

/// The divisor of one conversion step of a long integer, which yields 19 decimal digits. [`divide`]
/// relies on its top bit, which is set.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;
/// ⌊(2^128 - 1) / `CHUNK`⌋ - 2^64.
const CHUNK_RECIPROCAL: u64 = (u128::MAX / CHUNK as u128 - (1 << 64)) as u64;

impl<'a> Integer<'a> {
    /// Drops leading bytes that only repeat the sign; an empty slice becomes zero.
    pub fn new(mut bytes: &'a [u8]) -> Self {
        while let [first, second, ..] = bytes {
            let sign = if second & 0x80 == 0 { 0x00 } else { 0xff };
            if *first != sign {
                break;
            }
            bytes = bytes.get(1..).unwrap_or_default();
        }
        Self(if bytes.is_empty() { &[0] } else { bytes })
    }

    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    pub fn is_negative(self) -> bool {
        self.0.first().is_some_and(|first| first & 0x80 != 0)
    }

    pub fn is_zero(self) -> bool {
        self.0 == [0]
    }

    pub fn to_i128(self) -> Option<i128> {
        if self.0.len() > 16 {
            return None;
        }
        let sign = if self.is_negative() { -1 } else { 0 };
        Some(
            self.0
                .iter()
                .fold(sign, |number, byte| (number << 8) | i128::from(*byte)),
        )
    }

    /// Returns the low 64 bits, sign-extended if there are fewer.
    pub fn low_i64(self) -> i64 {
        let sign = if self.is_negative() { -1 } else { 0 };
        self.0
            .iter()
            .fold(sign, |number: i64, byte| (number << 8) | i64::from(*byte))
    }

    /// Rejects integers that take more than [`MAX_DIGITS`] digits to print.
    pub fn check_digits(self, ty: &CqlType) -> Result<()> {
        // A lower bound, at most 3 too small: log10(2) is slightly above 30,102/100,000, and the
        // first byte may use only one bit.
        let bits = (self.0.len() as u64).saturating_sub(1).saturating_mul(8);
        let digits = bits.saturating_mul(30_102) / 100_000;
        if digits > MAX_DIGITS {
            return Err(ValueError::digits(ty, digits));
        }
        Ok(())
    }

    /// Returns the absolute value as big-endian bytes.
    pub fn magnitude(self) -> Vec<u8> {
        let mut bytes = self.0.to_vec();
        if self.is_negative() {
            let mut carry = true;
            for byte in bytes.iter_mut().rev() {
                (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
            }
        }
        bytes
    }

    /// Writes the sign and the digits.
    pub fn write_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        self.write_digits(out);
    }

    /// Writes the digits of the absolute value, without leading zeros.
    pub fn write_digits(self, out: &mut Vec<u8>) {
        if let Some(number) = self.to_i128() {
            let magnitude = number.unsigned_abs();
            // Integers of half the width print several times as fast.
            match u64::try_from(magnitude) {
                Ok(number) => {
                    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
                Err(_) => {
                    out.extend_from_slice(itoa::Buffer::new().format(magnitude).as_bytes());
                }
            }
            return;
        }
        write_long(out, &self.magnitude());
    }
}

/// Writes digits by repeated division by 10^19; the work grows with the square of the length.
pub(super) fn write_long(out: &mut Vec<u8>, magnitude: &[u8]) {
    let mut limbs: Vec<u64> = magnitude
        .rchunks(8)
        .rev()
        .map(|bytes| {
            bytes
                .iter()
                .fold(0, |limb, byte| (limb << 8) | u64::from(*byte))
        })
        .collect();
    let mut rest = limbs.as_mut_slice();
    let mut chunks = Vec::new();
    loop {
        while let [0, tail @ ..] = rest {
            rest = tail;
        }
        if rest.is_empty() {
            break;
        }
        let mut remainder = 0;
        for limb in rest.iter_mut() {
            (*limb, remainder) = divide(remainder, *limb);
        }
        chunks.push(remainder);
    }
    let mut chunks = chunks.into_iter().rev();
    let mut buffer = itoa::Buffer::new();
    out.extend_from_slice(buffer.format(chunks.next().unwrap_or(0)).as_bytes());
    for chunk in chunks {
        let digits = buffer.format(chunk).as_bytes();
        let zeros = CHUNK_DIGITS.saturating_sub(digits.len());
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend_from_slice(digits);
    }
}

/// Divides `high × 2^64 + low` by `CHUNK`, for `high` below `CHUNK`. It uses two multiplications,
/// because a division takes several times as long (Möller and Granlund, "Improved division by
/// invariant integers", 2011, algorithm 4).
fn divide(high: u64, low: u64) -> (u64, u64) {
    let dividend = u128::from(high) << 64 | u128::from(low);
    let estimate = (u128::from(CHUNK_RECIPROCAL) * u128::from(high)).wrapping_add(dividend);
    let mut quotient = ((estimate >> 64) as u64).wrapping_add(1);
    let mut remainder = low.wrapping_sub(quotient.wrapping_mul(CHUNK));
    if remainder > estimate as u64 {
        quotient = quotient.wrapping_sub(1);
        remainder = remainder.wrapping_add(CHUNK);
    }
    if remainder >= CHUNK {
        quotient = quotient.wrapping_add(1);
        remainder = remainder.wrapping_sub(CHUNK);
    }
    (quotient, remainder)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fast_division_matches_plain_division(
            high in prop_oneof![0..CHUNK, Just(0), Just(CHUNK - 1)],
            low in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
        ) {
            let dividend = u128::from(high) << 64 | u128::from(low);
            let chunk = u128::from(CHUNK);
            let expected = ((dividend / chunk) as u64, (dividend % chunk) as u64);
            prop_assert_eq!(divide(high, low), expected);
        }
    }
}
