//! Formats numbers as decimal digits, eight at a time.

/// Numbers below this value fit one word of eight digits.
pub const WORD_RANGE: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Returns the number of digits. The position of the next piece depends on it, so it is computed
/// before the digits.
#[inline]
pub fn length(number: u32) -> u32 {
    let bits = (number | 1).ilog2() as usize;
    let carry = LENGTH_CARRIES.get(bits).copied().unwrap_or_default();
    (u64::from(number).wrapping_add(carry) >> 32) as u32
}

/// Summands, indexed by bit length minus one. The upper half of number plus summand is the number
/// of digits; a carry adds one if the number reaches the next power of ten.
const LENGTH_CARRIES: [u64; 32] = length_carries();

const fn length_carries() -> [u64; 32] {
    let mut carries = [0; 32];
    let mut bits = 0;
    #[allow(
        clippy::indexing_slicing,
        reason = "iterators do not work at compile time"
    )]
    while bits < 32 {
        let (least, most) = (1_u64 << bits, (2_u64 << bits) - 1);
        let shorter = least.ilog10() as u64 + 1;
        carries[bits] = if most.ilog10() == least.ilog10() {
            shorter << 32
        } else {
            ((shorter + 1) << 32) - 10_u64.pow(shorter as u32)
        };
        bits += 1;
    }
    carries
}

/// Returns the eight digits of a number below [`WORD_RANGE`], the first in the lowest byte.
///
/// Halves, pairs and digits are split in parallel. Multiplication by an approximate inverse, exact
/// for this few digits, replaces division.
#[inline]
pub fn digits(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = (halves.wrapping_mul(5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (halves.wrapping_sub(hundreds.wrapping_mul(100)) << 16);
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    (tens | (pairs.wrapping_sub(tens.wrapping_mul(10)) << 8)).wrapping_add(ZEROS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn length_is_right_around_every_power() {
        let powers = (0..9).map(|digits| 10_u32.pow(digits));
        for number in powers.flat_map(|power| [power - 1, power, power + 1]) {
            assert_eq!(
                length(number) as usize,
                number.to_string().len(),
                "{number}"
            );
        }
        for number in (0..31).flat_map(|bits| [(1 << bits) - 1, 1_u32 << bits]) {
            assert_eq!(
                length(number) as usize,
                number.to_string().len(),
                "{number}"
            );
        }
    }

    proptest! {
        #[test]
        fn eight_digits_are_written(number in 0_u64..WORD_RANGE) {
            let text = digits(number).to_le_bytes();
            prop_assert_eq!(String::from_utf8_lossy(&text), format!("{number:08}"));
        }
    }
}
