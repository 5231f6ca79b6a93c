//! Encodes values as JSON, like Debezium's connector with Connect's `JsonConverter`.
//!
//! The results are equal as JSON values, not byte by byte: a number may be spelled differently.

mod binary;
mod composite;
mod multi_cell;
mod number;
mod string;

use commitlog_core::cql_type::CqlType;

use super::hex::write_uuid;
use super::{Result, ValueError, ValueModes, fixed};

pub use binary::{SHORT_BASE64, SHORT_BASE64_TEXT, place_short_base64, write_base64};
pub(crate) use composite::is_string;
pub use multi_cell::{ElementCell, write_multi_cell, write_removed};
pub use string::{is_plain as is_plain_text, write_string};

/// Appends the JSON of a value given by its bytes (format notes §6.2, without a length).
///
/// A value of zero bytes is `""` for text, blobs and custom types, and `null` for every other
/// type. On an error, `out` remains unchanged.
pub fn write_json(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8], modes: &ValueModes) -> Result<()> {
    let start = out.len();
    let written = write_value(out, ty, bytes, *modes);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn write_value(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8], modes: ValueModes) -> Result<()> {
    match ty {
        CqlType::Ascii | CqlType::Text => {
            write_string(out, bytes);
            return Ok(());
        }
        CqlType::Blob | CqlType::Custom(_) => {
            binary::write_base64(out, bytes);
            return Ok(());
        }
        _ if bytes.is_empty() => {
            write_null(out);
            return Ok(());
        }
        CqlType::Boolean => {
            let [byte] = fixed(ty, bytes)?;
            out.extend_from_slice(if byte == 0 { b"false" } else { b"true" });
        }
        CqlType::TinyInt => number::write_integer(out, i8::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::SmallInt => number::write_integer(out, i16::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Int => number::write_integer(out, i32::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::BigInt | CqlType::Timestamp | CqlType::Time => {
            number::write_integer(out, i64::from_be_bytes(fixed(ty, bytes)?));
        }
        CqlType::Date => {
            // Cassandra stores 1970-01-01 as day 2^31.
            let days = i32::from_be_bytes(fixed(ty, bytes)?) ^ i32::MIN;
            number::write_integer(out, days);
        }
        CqlType::Float => number::write_f32(out, f32::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::Double => number::write_f64(out, f64::from_be_bytes(fixed(ty, bytes)?)),
        CqlType::VarInt => number::write_varint(out, bytes, modes.varint)?,
        CqlType::Decimal => number::write_decimal(out, bytes, modes.decimal)?,
        CqlType::Duration => number::write_duration(out, bytes, modes.duration)?,
        CqlType::Counter => number::write_counter(out, bytes)?,
        CqlType::Uuid | CqlType::TimeUuid => {
            let uuid = fixed(ty, bytes)?;
            out.push(b'"');
            write_uuid(out, uuid);
            out.push(b'"');
        }
        CqlType::Inet => binary::write_inet(out, bytes)?,
        CqlType::Empty => return Err(ValueError::length(ty, &0, bytes.len())),
        CqlType::List(element) | CqlType::Set(element) => {
            composite::write_list(out, ty, element, bytes, modes)?;
        }
        CqlType::Map(key, value) => composite::write_map(out, ty, key, value, bytes, modes)?,
        CqlType::Tuple(fields) => composite::write_tuple(out, ty, fields, bytes, modes)?,
        CqlType::Udt(user_type) => {
            composite::write_user_type(out, ty, &user_type.fields, bytes, modes)?;
        }
        CqlType::Vector(element, dimension) => {
            composite::write_vector(out, ty, element, *dimension, bytes, modes)?;
        }
    }
    Ok(())
}

/// Writes an element or field, which may be null.
fn write_nullable(
    out: &mut Vec<u8>,
    ty: &CqlType,
    bytes: Option<&[u8]>,
    modes: ValueModes,
) -> Result<()> {
    if let Some(bytes) = bytes {
        return write_value(out, ty, bytes, modes);
    }
    write_null(out);
    Ok(())
}

fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
}
