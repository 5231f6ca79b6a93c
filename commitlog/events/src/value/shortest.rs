//! Floating-point numbers as the shortest digits that read back, as Java has chosen them since
//! version 19: of two equally near texts the one with the even last digit.
//!
//! Java writes two digits at least, so where one is enough it takes the nearest two: 1.4E-45 and
//! not 1.0E-45. That differs only among the smallest subnormal numbers.

use std::fmt::LowerExp;
use std::str::FromStr;

/// Appends a finite number: digits, perhaps a point, perhaps `e` and an exponent.
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
