use commitlog_core::cql_type::CqlType;

use super::super::counter::counter_total;
use super::super::decimal::{Decimal, Integer};
use super::super::duration::Duration;
use super::super::shortest;
use super::super::{DecimalMode, DurationMode, VarintMode};
use super::Result;
use super::binary::write_base64;

pub(super) fn write_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes the shortest digits that read back as this float; NaN and infinities become strings.
pub(super) fn write_f32(out: &mut Vec<u8>, number: f32) {
    if number.is_finite() {
        shortest::write(out, number, number.is_subnormal());
    } else {
        write_non_finite(out, number.is_nan(), number.is_sign_negative());
    }
}

/// Writes the shortest digits that read back as this double; NaN and infinities become strings.
pub(super) fn write_f64(out: &mut Vec<u8>, number: f64) {
    if number.is_finite() {
        shortest::write(out, number, number.is_subnormal());
    } else {
        write_non_finite(out, number.is_nan(), number.is_sign_negative());
    }
}

fn write_non_finite(out: &mut Vec<u8>, nan: bool, negative: bool) {
    out.extend_from_slice(match (nan, negative) {
        (true, _) => br#""NaN""#,
        (false, false) => br#""Infinity""#,
        (false, true) => br#""-Infinity""#,
    });
}

pub(super) fn write_varint(out: &mut Vec<u8>, bytes: &[u8], mode: VarintMode) -> Result<()> {
    let integer = Integer::new(bytes);
    match mode {
        VarintMode::Long => write_integer(out, integer.low_i64()),
        VarintMode::Precise => write_base64(out, integer.bytes()),
        VarintMode::Digits => {
            integer.check_digits(&CqlType::VarInt)?;
            integer.write_text(out);
        }
        VarintMode::String => {
            integer.check_digits(&CqlType::VarInt)?;
            out.push(b'"');
            integer.write_text(out);
            out.push(b'"');
        }
    }
    Ok(())
}

pub(super) fn write_decimal(out: &mut Vec<u8>, bytes: &[u8], mode: DecimalMode) -> Result<()> {
    let decimal = Decimal::parse(bytes)?;
    match mode {
        DecimalMode::Double => {
            let number = decimal.to_f64(out)?;
            write_f64(out, number);
        }
        DecimalMode::Precise => {
            out.extend_from_slice(br#"{"scale":"#);
            write_integer(out, decimal.scale);
            out.extend_from_slice(br#","value":"#);
            write_base64(out, decimal.unscaled.bytes());
            out.push(b'}');
        }
        DecimalMode::String => {
            out.push(b'"');
            decimal.write_plain(out)?;
            out.push(b'"');
        }
    }
    Ok(())
}

pub(super) fn write_duration(out: &mut Vec<u8>, bytes: &[u8], mode: DurationMode) -> Result<()> {
    let duration = Duration::parse(bytes)?;
    match mode {
        DurationMode::Nanos => write_integer(out, duration.total_nanoseconds()),
        DurationMode::Precise => {
            out.extend_from_slice(br#"{"months":"#);
            write_integer(out, duration.months);
            out.extend_from_slice(br#","days":"#);
            write_integer(out, duration.days);
            out.extend_from_slice(br#","nanoseconds":"#);
            write_integer(out, duration.nanoseconds);
            out.push(b'}');
        }
        DurationMode::String => {
            out.push(b'"');
            duration.write_text(out);
            out.push(b'"');
        }
    }
    Ok(())
}

pub(super) fn write_counter(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    write_integer(out, counter_total(bytes)?);
    Ok(())
}
