use super::super::shortest;

/// Writes a float like `Float#toString` in Java 19.
pub fn write_f32(out: &mut Vec<u8>, number: f32) {
    if number.is_finite() {
        let mut shortest = Vec::new();
        shortest::write(&mut shortest, number, number.is_subnormal());
        write_finite(out, &shortest);
    } else {
        write_non_finite(out, number.is_nan(), number.is_sign_negative());
    }
}

/// Writes a double like `Double#toString` in Java 19.
pub fn write_f64(out: &mut Vec<u8>, number: f64) {
    if number.is_finite() {
        let mut shortest = Vec::new();
        shortest::write(&mut shortest, number, number.is_subnormal());
        write_finite(out, &shortest);
    } else {
        write_non_finite(out, number.is_nan(), number.is_sign_negative());
    }
}

fn write_non_finite(out: &mut Vec<u8>, nan: bool, negative: bool) {
    out.extend_from_slice(match (nan, negative) {
        (true, _) => b"NaN",
        (false, false) => b"Infinity",
        (false, true) => b"-Infinity",
    });
}

/// Rewrites a number in Java's form: plain from 10^-3 to below 10^7, else one digit before the
/// point and an exponent. At least one digit follows the point.
fn write_finite(out: &mut Vec<u8>, text: &[u8]) {
    let text = match text {
        [b'-', positive @ ..] => {
            out.push(b'-');
            positive
        }
        _ => text,
    };
    let mut parts = text.splitn(2, |byte| *byte == b'e');
    let mantissa = parts.next().unwrap_or_default();
    let exponent = parts.next().and_then(|text| std::str::from_utf8(text).ok());
    let exponent: i32 = exponent.and_then(|text| text.parse().ok()).unwrap_or(0);

    let point = mantissa.iter().position(|byte| *byte == b'.');
    let mut digits: Vec<u8> = mantissa.to_vec();
    digits.retain(|byte| *byte != b'.');
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.drain(..zeros);
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    if digits.is_empty() {
        out.extend_from_slice(b"0.0");
        return;
    }
    // The value is d.ddd × 10^power.
    let whole = point.unwrap_or(mantissa.len());
    let power = exponent
        .saturating_add(whole as i32)
        .saturating_sub(zeros as i32)
        .saturating_sub(1);
    match usize::try_from(power) {
        Ok(power) if power < 7 => write_plain(out, power.saturating_add(1), &digits),
        Err(_) if power >= -3 => {
            out.extend_from_slice(b"0.");
            let zeros = power.unsigned_abs().saturating_sub(1) as usize;
            out.extend(std::iter::repeat_n(b'0', zeros));
            out.extend_from_slice(&digits);
        }
        _ => {
            write_plain(out, 1, &digits);
            out.push(b'E');
            out.extend_from_slice(itoa::Buffer::new().format(power).as_bytes());
        }
    }
}

/// Writes `whole` digits before the point, padded with zeros.
fn write_plain(out: &mut Vec<u8>, whole: usize, digits: &[u8]) {
    let mut digits = digits.iter().copied();
    for _ in 0..whole {
        out.push(digits.next().unwrap_or(b'0'));
    }
    out.push(b'.');
    out.push(digits.next().unwrap_or(b'0'));
    out.extend(digits);
}
