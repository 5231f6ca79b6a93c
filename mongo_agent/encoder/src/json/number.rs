//! Writes numbers and times as text.

use event_encoding::calendar::date_of_day;

const MILLIS_PER_DAY: i64 = 86_400_000;
const FIRST_OF_YEAR_10000_MS: i64 = 253_402_300_800_000;

/// Two hexadecimal digits.
pub fn lower_hex(byte: u8) -> [u8; 2] {
    let digit = |half: u8| {
        let base = if half < 10 { b'0' } else { b'a' - 10 };
        base.wrapping_add(half)
    };
    [digit(byte >> 4), digit(byte & 15)]
}

/// Writes like `Double#toString` since Java 19: the fewest digits that read back, at least two.
pub fn write_double(out: &mut Vec<u8>, number: f64) {
    if !number.is_finite() {
        out.extend_from_slice(match (number.is_nan(), number.is_sign_negative()) {
            (true, _) => b"NaN",
            (false, false) => b"Infinity",
            (false, true) => b"-Infinity",
        });
        return;
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = number.abs();
    if magnitude == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    // If one digit is enough, Java writes the nearest two digits: 4.9E-324.
    let nearest = magnitude
        .is_subnormal()
        .then(|| format!("{magnitude:.1e}"))
        .filter(|text| text.parse() == Ok(magnitude));
    let mut buffer = ryu::Buffer::new();
    let text = nearest
        .as_deref()
        .unwrap_or_else(|| buffer.format_finite(magnitude));
    if (1e-3..1e7).contains(&magnitude) {
        // In this range, Java and `ryu` write all digits without an exponent.
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let (digits, exponent) = digits_and_exponent(text);
    write_scientific(out, &digits, exponent);
}

/// Returns the digits without leading and trailing zeros, and the first digit's power of ten.
fn digits_and_exponent(text: &str) -> (Vec<u8>, i32) {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.drain(..zeros);
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    let power: i32 = power.parse().unwrap_or_default();
    let place = whole.len() as i32 - zeros as i32 - 1;
    (digits, power.saturating_add(place))
}

fn write_scientific(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let (first, rest) = digits.split_at(digits.len().min(1));
    out.extend_from_slice(first);
    out.push(b'.');
    out.extend_from_slice(if rest.is_empty() { b"0" } else { rest });
    out.push(b'E');
    out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
}

/// Writes a Decimal128 in binary integer encoding as text. As specified, a coefficient of more than
/// 34 digits counts as zero.
pub fn write_decimal128(out: &mut Vec<u8>, bits: u128) {
    const LARGEST: u128 = 10_u128.pow(34) - 1;
    const BIAS: i32 = 6176;
    let combination = bits >> 122 & 0x1f;
    if combination == 0x1f {
        out.extend_from_slice(b"NaN");
        return;
    }
    if bits >> 127 == 1 {
        out.push(b'-');
    }
    if combination == 0x1e {
        out.extend_from_slice(b"Infinity");
        return;
    }
    let is_beyond = bits >> 125 & 3 == 3;
    let shift = if is_beyond { 111 } else { 113 };
    let exponent = (bits >> shift & 0x3fff) as i32 - BIAS;
    let coefficient = bits & ((1 << 113) - 1);
    let coefficient = if is_beyond || coefficient > LARGEST {
        0
    } else {
        coefficient
    };
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(coefficient).as_bytes();
    let adjusted = exponent + digits.len() as i32 - 1;
    if exponent > 0 || adjusted < -6 {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.push(b'E');
        if adjusted >= 0 {
            out.push(b'+');
        }
        out.extend_from_slice(itoa::Buffer::new().format(adjusted).as_bytes());
    } else if exponent == 0 {
        out.extend_from_slice(digits);
    } else {
        let fraction = exponent.unsigned_abs() as usize;
        let (whole, rest) = digits.split_at(digits.len().saturating_sub(fraction));
        out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
        out.push(b'.');
        out.extend(std::iter::repeat_n(
            b'0',
            fraction.saturating_sub(rest.len()),
        ));
        out.extend_from_slice(rest);
    }
}

/// Whether relaxed JSON writes a time as text: years 1970 to 9999.
pub fn is_calendar_date(millis: i64) -> bool {
    (0..FIRST_OF_YEAR_10000_MS).contains(&millis)
}

/// Writes `2020-01-01T00:00:00Z`, with a fraction without trailing zeros
/// (`DateTimeFormatter#ISO_OFFSET_DATE_TIME`). Requires that `is_calendar_date` is true.
pub fn write_date(out: &mut Vec<u8>, millis: i64) {
    let (year, month, day) = date_of_day(millis.div_euclid(MILLIS_PER_DAY));
    write_padded(out, year, 4);
    out.push(b'-');
    write_padded(out, month, 2);
    out.push(b'-');
    write_padded(out, day, 2);
    out.push(b'T');
    let of_day = millis.rem_euclid(MILLIS_PER_DAY);
    write_padded(out, of_day / 3_600_000, 2);
    out.push(b':');
    write_padded(out, of_day / 60_000 % 60, 2);
    out.push(b':');
    write_padded(out, of_day / 1000 % 60, 2);
    let fraction = of_day % 1000;
    if fraction != 0 {
        out.push(b'.');
        write_padded(out, fraction, 3);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
    out.push(b'Z');
}

fn write_padded(out: &mut Vec<u8>, number: i64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.extend(std::iter::repeat_n(
        b'0',
        width.saturating_sub(digits.len()),
    ));
    out.extend_from_slice(digits);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn doubles_of_medium_size_have_no_exponent(number in 1e-3..1e7_f64) {
            let mut text = Vec::new();
            write_double(&mut text, number);
            let text = String::from_utf8(text).unwrap();
            let (whole, fraction) = text.split_once('.').unwrap();
            prop_assert!(!whole.is_empty() && !fraction.is_empty());
            prop_assert!(text.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit()), "{}", text);
            prop_assert!(!fraction.ends_with('0') || fraction == "0", "{}", text);
            prop_assert_eq!(text.parse(), Ok(number));
        }
    }
}
