//! Writes floating-point numbers with the shortest digits that read back, like Java since version
//! 19: of two equally near texts, the text with the even last digit.
//!
//! Java writes at least two digits. If one is enough, it writes the nearest two: 1.4E-45, not
//! 1.0E-45. This matters only for the smallest subnormal numbers.

use std::fmt::LowerExp;
use std::str::FromStr;

/// Appends a finite number: digits, an optional point, and an optional exponent after `e`.
pub(super) fn write<F>(out: &mut Vec<u8>, number: F, is_subnormal: bool)
where
    F: ryu::Float + LowerExp + FromStr + PartialEq,
{
    if is_subnormal {
        let nearest = format!("{number:.1e}");
        if nearest.parse().is_ok_and(|read: F| read == number) {
            out.extend_from_slice(nearest.as_bytes());
            return;
        }
    }
    let mut buffer = ryu::Buffer::new();
    out.extend_from_slice(buffer.format_finite(number).as_bytes());
}
