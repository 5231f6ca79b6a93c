/// Java's `Float#toString` with the shortest digits that read back.
pub(super) fn write_f32(out: &mut Vec<u8>, number: f32) {
    if write_special(out, number.is_nan(), number.is_infinite(), number < 0.0) {
        return;
    }
    let mut buffer = ryu::Buffer::new();
    write_java(out, buffer.format_finite(number));
}

/// Java's `Double#toString` with the shortest digits that read back.
pub(super) fn write_f64(out: &mut Vec<u8>, number: f64) {
    if write_special(out, number.is_nan(), number.is_infinite(), number < 0.0) {
        return;
    }
    let mut buffer = ryu::Buffer::new();
    write_java(out, buffer.format_finite(number));
}

fn write_special(out: &mut Vec<u8>, nan: bool, infinite: bool, negative: bool) -> bool {
    if nan {
        out.extend_from_slice(b"NaN");
    } else if infinite {
        out.extend_from_slice(if negative { b"-Infinity" } else { b"Infinity" });
    }
    nan || infinite
}

/// Rewrites digits with any placement of the point and any exponent in Java's way: plain from
/// 10^-3 to below 10^7, else one digit before the point and an exponent; always a digit after
/// the point.
fn write_java(out: &mut Vec<u8>, text: &str) {
    let text = text.strip_prefix('-').map_or(text, |positive| {
        out.push(b'-');
        positive
    });
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|digit| **digit == b'0').count();
    let digits = all.get(zeros..).unwrap_or_default().trim_ascii();
    let significant = digits.iter().rposition(|digit| *digit != b'0');
    let Some(significant) = significant else {
        out.extend_from_slice(b"0.0");
        return;
    };
    let digits = digits.get(..=significant).unwrap_or_default();
    // The value is d.ddd × 10^power.
    let power = exponent
        .parse::<i32>()
        .unwrap_or(0)
        .saturating_add(whole.len() as i32)
        .saturating_sub(zeros as i32)
        .saturating_sub(1);
    if (-3..7).contains(&power) {
        write_plain(out, digits, power);
    } else {
        write_plain(out, digits, 0);
        out.push(b'E');
        out.extend_from_slice(itoa::Buffer::new().format(power).as_bytes());
    }
}

fn write_plain(out: &mut Vec<u8>, digits: &[u8], power: i32) {
    let Ok(power) = usize::try_from(power) else {
        out.extend_from_slice(b"0.");
        let zeros = power.unsigned_abs().saturating_sub(1) as usize;
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend_from_slice(digits);
        return;
    };
    let mut rest = digits.iter().copied();
    for _ in 0..=power {
        out.push(rest.next().unwrap_or(b'0'));
    }
    out.push(b'.');
    out.push(rest.next().unwrap_or(b'0'));
    out.extend(rest);
}
