//! Doubles from decimals of many thousand digits, by floating-point arithmetic of 512 bits.

/// Most significant first.
const LIMBS: usize = 8;

/// `limbs × 2^exponent`, the limbs taken as one integer whose top bit is set.
#[derive(Clone, Copy)]
struct Wide {
    limbs: [u64; LIMBS],
    exponent: i64,
}

const ONE: Wide = Wide {
    limbs: [1 << 63, 0, 0, 0, 0, 0, 0, 0],
    exponent: -511,
};

/// 0.1, correct to 2^-513 of itself.
const TENTH: Wide = Wide {
    limbs: [
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccc,
        0xcccc_cccc_cccc_cccd,
    ],
    exponent: -515,
};

/// `magnitude × 10^-scale` for a magnitude (big-endian) of more than 4,096 bytes.
///
/// The power has at most 2^31 factors, so its error stays below 2^-470 of it; a result closer
/// than 2^-448 to the middle between two doubles counts as the middle.
pub(super) fn to_f64(magnitude: &[u8], scale: i32) -> f64 {
    let Ok(scale) = u32::try_from(scale) else {
        return f64::INFINITY;
    };
    let number = from_bytes(magnitude);
    // Bits of the result within one: log2(10) is between 3321/1000 and 3322/1000.
    let bits = number.exponent.saturating_add(512);
    if i64::from(scale).saturating_mul(3321) / 1000 > bits.saturating_add(2000) {
        return 0.0;
    }
    round(multiply(&number, &power(TENTH, scale)))
}

fn from_bytes(magnitude: &[u8]) -> Wide {
    let zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let bytes = magnitude.get(zeros..).unwrap_or_default();
    let mut words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        u64::from_be_bytes(word)
    });
    let mut word = words.next().unwrap_or(0);
    let shift = word.leading_zeros().min(7);
    let limbs = [(); LIMBS].map(|()| {
        let next = words.next().unwrap_or(0);
        let limb = ((u128::from(word) << 64 | u128::from(next)) << shift >> 64) as u64;
        word = next;
        limb
    });
    let bits = (bytes.len() as i64).saturating_mul(8);
    Wide {
        limbs,
        exponent: bits.saturating_sub(512).saturating_sub(i64::from(shift)),
    }
}

fn multiply(left: &Wide, right: &Wide) -> Wide {
    // Least significant first.
    let mut product = [0_u64; 2 * LIMBS];
    for (shift, x) in left.limbs.iter().rev().enumerate() {
        let mut ys = right.limbs.iter().rev();
        let mut carry = 0_u128;
        for slot in product.iter_mut().skip(shift) {
            let y = ys.next().copied().unwrap_or(0);
            let sum = u128::from(*x) * u128::from(y) + u128::from(*slot) + carry;
            *slot = sum as u64;
            carry = sum >> 64;
        }
    }
    let mut exponent = left
        .exponent
        .saturating_add(right.exponent)
        .saturating_add(512);
    let mut words = product.into_iter().rev();
    let mut word = words.next().unwrap_or(0);
    let shift = word.leading_zeros().min(1);
    exponent = exponent.saturating_sub(i64::from(shift));
    let limbs = [(); LIMBS].map(|()| {
        let next = words.next().unwrap_or(0);
        let limb = ((u128::from(word) << 64 | u128::from(next)) << shift >> 64) as u64;
        word = next;
        limb
    });
    Wide { limbs, exponent }
}

fn power(mut base: Wide, mut count: u32) -> Wide {
    let mut result = ONE;
    while count > 0 {
        if count & 1 == 1 {
            result = multiply(&result, &base);
        }
        count >>= 1;
        if count > 0 {
            base = multiply(&base, &base);
        }
    }
    result
}

/// To the nearest double, half to even, after rounding to 448 bits.
fn round(wide: Wide) -> f64 {
    let [mut top, middle @ .., last] = wide.limbs;
    // The value is in [2^(magnitude - 1), 2^magnitude).
    let mut magnitude = wide.exponent.saturating_add(512);
    let mut middle = middle;
    let mut carry = last >> 63 == 1;
    for limb in middle.iter_mut().rev() {
        (*limb, carry) = limb.overflowing_add(u64::from(carry));
    }
    (top, carry) = top.overflowing_add(u64::from(carry));
    if carry {
        top = 1 << 63;
        magnitude = magnitude.saturating_add(1);
    }
    if magnitude > 1024 {
        return f64::INFINITY;
    }
    let Ok(precision) = u32::try_from(magnitude.saturating_add(1074).min(53)) else {
        return 0.0;
    };
    let wide_top = u128::from(top) << precision;
    let mut kept = (wide_top >> 64) as u64;
    let below = wide_top as u64;
    let half = 1_u64 << 63;
    let sticky = middle.iter().any(|limb| *limb != 0);
    if below > half || (below == half && (sticky || kept & 1 == 1)) {
        kept = kept.saturating_add(1);
    }
    let unit = magnitude.saturating_sub(i64::from(precision));
    #[allow(clippy::cast_precision_loss)] // At most 2^53.
    let kept = kept as f64;
    kept * power_of_two(unit)
}

/// 2^exponent for exponents from -1074 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    let bits = if exponent < -1022 {
        1_u64 << exponent.saturating_add(1074).clamp(0, 51)
    } else {
        (exponent.saturating_add(1023) as u64) << 52
    };
    f64::from_bits(bits)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    /// A long integer `digits × 10^zeros` as big-endian bytes.
    fn magnitude(digits: &str, zeros: usize) -> Vec<u8> {
        let mut bytes = vec![0_u8];
        for digit in digits.bytes().chain(std::iter::repeat_n(b'0', zeros)) {
            let mut carry = u32::from(digit - b'0');
            for byte in bytes.iter_mut().rev() {
                let sum = u32::from(*byte) * 10 + carry;
                *byte = sum as u8;
                carry = sum >> 8;
            }
            if carry > 0 {
                bytes.insert(0, carry as u8);
            }
        }
        bytes
    }

    #[test]
    fn agrees_with_the_exact_conversion() {
        let digits = "31415926535897932384626433832795028841971693993751058209749445923078164";
        for scale in [
            0, 50, 400, 700, 1000, 1023, 1024, 1040, 1370, 1400, 1410, 2000,
        ] {
            let expected: f64 = format!("{digits}e{}", 1000 - scale).parse().unwrap();
            assert_eq!(to_f64(&magnitude(digits, 1000), scale), expected, "{scale}");
        }
    }

    #[test]
    fn an_exact_middle_goes_to_even() {
        // 2^53 + 1 and 2^53 + 3, in the precision of a double.
        for digits in ["9007199254740993", "9007199254740995"] {
            let expected: f64 = digits.parse().unwrap();
            assert_eq!(to_f64(&magnitude(digits, 900), 900), expected);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(to_f64(&magnitude("1", 900), -1), f64::INFINITY);
        assert_eq!(to_f64(&magnitude("1", 900), i32::MAX), 0.0);
        assert_eq!(to_f64(&magnitude("1", 900), 591), f64::INFINITY);
        assert_eq!(to_f64(&magnitude("1", 900), 592), 1e308);
        for (digits, scale) in [
            ("49", 324),
            ("24", 325),
            ("25", 325),
            ("22250738585072011", 324),
        ] {
            let expected: f64 = format!("{digits}e-{scale}").parse().unwrap();
            assert_eq!(to_f64(&magnitude(digits, 900), 900 + scale), expected);
        }
    }
}
