use arrow_array::builder::Decimal128Builder;
use arrow_schema::DataType;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::decimal::{Decimal, Integer};
use commitlog_events::value::text;

use super::Column;
use super::cells::cells;
use crate::Misfit;

/// `decimal` and `varint` at a fixed scale. Values that do not fit exactly are rejected.
pub fn decimals(cql_type: &CqlType, precision: u8, scale: i8) -> Box<dyn Column> {
    let own_type = cql_type.clone();
    let append = move |builder: &mut Decimal128Builder, bytes: &[u8]| {
        let decimal = match own_type {
            CqlType::VarInt => Decimal {
                scale: 0,
                unscaled: Integer::new(bytes),
            },
            _ => Decimal::parse(bytes)?,
        };
        let number = rescale(decimal, precision, scale);
        builder.append_value(number.ok_or_else(|| misfit(&own_type, bytes, precision, scale))?);
        Ok(())
    };
    let data_type = DataType::Decimal128(precision, scale);
    let builder = Decimal128Builder::new().with_data_type(data_type);
    cells(cql_type, builder, Decimal128Builder::append_null, append)
}

#[cold]
fn misfit(cql_type: &CqlType, bytes: &[u8], precision: u8, scale: i8) -> Misfit {
    let mut value = Vec::new();
    if let Err(error) = text::write_text(&mut value, cql_type, bytes) {
        return error.into();
    }
    Misfit::Decimal {
        value: String::from_utf8_lossy(&value).into_owned(),
        precision,
        scale,
    }
}

/// Converts a number to `scale`. Returns `None` if the result is inexact or exceeds `precision`.
fn rescale(decimal: Decimal<'_>, precision: u8, scale: i8) -> Option<i128> {
    let (unscaled, own_scale) = match decimal.unscaled.to_i128() {
        Some(unscaled) => (unscaled, i64::from(decimal.scale)),
        None => without_zeros(decimal)?,
    };
    if unscaled == 0 {
        return Some(0);
    }
    let shift = i64::from(scale).saturating_sub(own_scale);
    let power = 10_i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
    let number = if shift >= 0 {
        unscaled.checked_mul(power)?
    } else if unscaled % power == 0 {
        unscaled / power
    } else {
        return None;
    };
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    (number.unsigned_abs() < limit.unsigned_abs()).then_some(number)
}

/// Removes the trailing zeros of a number of more than 128 bits.
fn without_zeros(decimal: Decimal<'_>) -> Option<(i128, i64)> {
    decimal.unscaled.check_digits(&CqlType::Decimal).ok()?;
    let mut digits = Vec::new();
    decimal.unscaled.write_text(&mut digits);
    let text = std::str::from_utf8(&digits).ok()?;
    let significant = text.trim_end_matches('0');
    let zeros = text.len().saturating_sub(significant.len());
    let scale = i64::from(decimal.scale).saturating_sub(zeros as i64);
    Some((significant.parse().ok()?, scale))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fit(unscaled: &[u8], own_scale: i32, precision: u8, scale: i8) -> Option<i128> {
        let unscaled = Integer::new(unscaled);
        let decimal = Decimal {
            scale: own_scale,
            unscaled,
        };
        rescale(decimal, precision, scale)
    }

    #[test]
    fn exactly_representable_numbers_fit() {
        assert_eq!(fit(&[125], 1, 4, 2), Some(1250));
        assert_eq!(fit(&[0x83], 1, 4, 2), Some(-1250));
        assert_eq!(fit(&[120], 2, 2, 1), Some(12));
        assert_eq!(fit(&[0], i32::MIN, 1, 0), Some(0));
        assert_eq!(fit(&[1], -37, 38, 0), Some(10_i128.pow(37)));
    }

    #[test]
    fn inexact_or_large_numbers_do_not_fit() {
        assert_eq!(fit(&[125], 3, 38, 2), None);
        assert_eq!(fit(&[100], 0, 2, 0), None);
        for scale in [i32::MIN, -38, 39, i32::MAX] {
            assert_eq!(fit(&[1], scale, 38, 0), None);
        }
    }

    #[test]
    fn trailing_zeros_of_long_number_do_not_count() {
        // 10^40, then 10^40 + 1.
        let mut bytes = [
            0x1d, 0x63, 0x29, 0xf1, 0xc3, 0x5c, 0xa4, 0xbf, 0xab, 0xb9, 0xf5, 0x61, 0, 0, 0, 0, 0,
        ];
        assert_eq!(fit(&bytes, 40, 1, 0), Some(1));
        assert_eq!(fit(&bytes, 2, 38, 0), None);
        bytes[16] = 1;
        assert_eq!(fit(&bytes, 40, 38, 0), None);
    }
}
