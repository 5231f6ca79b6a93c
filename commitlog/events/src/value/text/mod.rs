//! Writes values as text for range bounds, like `AbstractType#getString` of Cassandra 5.0.

mod float;

use commitlog_core::cql_type::CqlType;

pub(crate) use float::{write_f32 as write_java_float, write_f64 as write_java_double};

use super::decimal::{Decimal, Integer};
use super::duration::Duration;
use super::hex::{write_hex, write_uuid};
use super::inet::write_host_address;
use super::json::write_string;
use super::{Result, ValueError, ValueReader, calendar, fixed};

/// Appends the text of a value without quotes; a value of zero bytes has no text.
///
/// The output is always UTF-8: invalid bytes become U+FFFD. On an error, `out` remains unchanged.
pub fn write_text(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8]) -> Result<()> {
    let start = out.len();
    let written = write_value(out, ty, bytes);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends the text of [`write_text`] as a JSON string.
pub fn write_json_text(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8]) -> Result<()> {
    match ty {
        CqlType::Ascii | CqlType::Text => write_string(out, bytes),
        CqlType::Tuple(_) | CqlType::Udt(_) => {
            let mut text = Vec::new();
            write_value(&mut text, ty, bytes)?;
            write_string(out, &text);
        }
        _ => {
            // The other texts contain nothing that JSON escapes.
            out.push(b'"');
            if let Err(error) = write_text(out, ty, bytes) {
                out.pop();
                return Err(error);
            }
            out.push(b'"');
        }
    }
    Ok(())
}

fn write_value(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    match ty {
        CqlType::Ascii | CqlType::Text => match std::str::from_utf8(bytes) {
            Ok(_) => out.extend_from_slice(bytes),
            Err(_) => out.extend_from_slice(String::from_utf8_lossy(bytes).as_bytes()),
        },
        CqlType::Boolean => {
            let [byte] = fixed(ty, bytes)?;
            out.extend_from_slice(if byte == 0 { b"false" } else { b"true" });
        }
        CqlType::TinyInt => write_integer(out, i8::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::SmallInt => write_integer(out, i16::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Int => write_integer(out, i32::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::BigInt => write_integer(out, i64::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::VarInt => {
            let integer = Integer::new(bytes);
            integer.check_digits(ty)?;
            integer.write_text(out);
        }
        CqlType::Decimal => Decimal::parse(bytes)?.write_java(out)?,
        CqlType::Float => float::write_f32(out, f32::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Double => float::write_f64(out, f64::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Date => {
            let days = i64::from(u32::from_be_bytes(fixed(ty, bytes)?));
            calendar::write_date(out, days.saturating_sub(1 << 31));
        }
        CqlType::Time => calendar::write_time(out, i64::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Timestamp => {
            calendar::write_timestamp(out, i64::from_be_bytes(fixed(ty, bytes)?));
        }
        CqlType::Duration => Duration::parse(bytes)?.write_text(out),
        CqlType::Uuid | CqlType::TimeUuid => write_uuid(out, fixed(ty, bytes)?),
        CqlType::Inet => write_host_address(out, bytes)?,
        CqlType::Empty => return Err(ValueError::length(ty, &0, bytes.len())),
        CqlType::Tuple(fields) => write_fields(out, ty, fields, bytes)?,
        CqlType::Udt(user_type) => {
            let fields = user_type.fields.iter().map(|field| &field.cql_type);
            write_fields(out, ty, fields, bytes)?;
        }
        CqlType::Blob
        | CqlType::Counter
        | CqlType::List(_)
        | CqlType::Set(_)
        | CqlType::Map(..)
        | CqlType::Vector(..)
        | CqlType::Custom(_) => write_hex(out, bytes),
    }
    Ok(())
}

fn write_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes fields with colons between them and `@` for a null, both escaped inside the fields
/// (`TupleType#getString`). Missing fields at the end are omitted.
fn write_fields<'t>(
    out: &mut Vec<u8>,
    ty: &CqlType,
    fields: impl IntoIterator<Item = &'t CqlType>,
    bytes: &[u8],
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    let mut text = Vec::new();
    for (index, field) in fields.into_iter().enumerate() {
        if reader.is_at_end() {
            return Ok(());
        }
        if index > 0 {
            out.push(b':');
        }
        let Some(bytes) = reader.read_element()? else {
            out.push(b'@');
            continue;
        };
        text.clear();
        write_value(&mut text, field, bytes)?;
        for byte in &text {
            if matches!(byte, b':' | b'@') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
    }
    reader.finish()
}
