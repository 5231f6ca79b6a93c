//! Whether bytes have the form of a type (format notes §6.2): lengths and nesting, not meaning.

use crate::cql_type::CqlType;
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};
use crate::schema::Column;

/// Whether a cell can belong to this column.
pub(crate) fn fits(column: &Column, path: Option<&[u8]>, value: &[u8]) -> bool {
    let Some(path) = path else {
        return has_form(&column.cql_type, value);
    };
    match &column.cql_type {
        CqlType::List(element) => path.len() == 16 && has_form(element, value),
        CqlType::Set(element) => value.is_empty() && has_form(element, path),
        CqlType::Map(key, element) => has_form(key, path) && has_form(element, value),
        CqlType::Udt(user_type) => {
            let index = path.try_into().map(u16::from_be_bytes);
            let field = index
                .ok()
                .and_then(|index| user_type.fields.get(usize::from(index)));
            field.is_some_and(|field| has_form(&field.cql_type, value))
        }
        _ => false,
    }
}

/// Whether bytes have the form of a type. Nearly every type allows an empty value.
fn has_form(cql_type: &CqlType, bytes: &[u8]) -> bool {
    if bytes.is_empty() {
        return true;
    }
    match cql_type {
        CqlType::TinyInt => bytes.len() == 1,
        CqlType::SmallInt => bytes.len() == 2,
        CqlType::Date => bytes.len() == 4,
        CqlType::Time => bytes.len() == 8,
        CqlType::Inet => matches!(bytes.len(), 4 | 16),
        CqlType::Decimal => bytes.len() > 4,
        CqlType::Ascii => bytes.is_ascii(),
        CqlType::Text => std::str::from_utf8(bytes).is_ok(),
        CqlType::Blob | CqlType::VarInt | CqlType::Counter | CqlType::Custom(_) => true,
        CqlType::Duration => is_used_up(bytes, |cursor| {
            (0..3).try_for_each(|_| cursor.uvint().map(drop))
        }),
        CqlType::List(element) | CqlType::Set(element) => elements(bytes, &[element]),
        CqlType::Map(key, value) => elements(bytes, &[key, value]),
        CqlType::Tuple(fields) => fields_fit(bytes, fields.iter()),
        CqlType::Udt(user_type) => fields_fit(bytes, user_type.fields.iter().map(|f| &f.cql_type)),
        CqlType::Vector(element, dimension) => is_used_up(bytes, |cursor| {
            (0..*dimension).try_for_each(|_| {
                let bytes = match element.fixed_length() {
                    Some(length) => cursor.bytes(length)?,
                    None => cursor.vbytes()?,
                };
                check(element, bytes)
            })
        }),
        _ => cql_type
            .fixed_length()
            .is_none_or(|length| length == bytes.len()),
    }
}

fn check(cql_type: &CqlType, bytes: &[u8]) -> Result<()> {
    if has_form(cql_type, bytes) {
        Ok(())
    } else {
        Err(DecodeError::out_of_range(
            "length of a value",
            bytes.len() as u64,
        ))
    }
}

fn is_used_up(bytes: &[u8], read: impl FnOnce(&mut Cursor<'_>) -> Result<()>) -> bool {
    let mut cursor = Cursor::new(bytes);
    read(&mut cursor).is_ok() && cursor.rest().is_empty()
}

/// Reads a length of four bytes, negative for null, and that many bytes.
fn nullable<'p>(cursor: &mut Cursor<'p>) -> Result<Option<&'p [u8]>> {
    match i32::try_from(cursor.u32()?) {
        Ok(length) => cursor.bytes(length.unsigned_abs() as usize).map(Some),
        Err(_) => Ok(None),
    }
}

/// Whether bytes are a count and that many groups of elements with these types.
fn elements(bytes: &[u8], types: &[&CqlType]) -> bool {
    is_used_up(bytes, |cursor| {
        for _ in 0..cursor.u32()? {
            for cql_type in types {
                if let Some(bytes) = nullable(cursor)? {
                    check(cql_type, bytes)?;
                }
            }
        }
        Ok(())
    })
}

/// Whether bytes are values of these fields; fields at the end may be missing.
fn fields_fit<'t>(bytes: &[u8], fields: impl Iterator<Item = &'t CqlType>) -> bool {
    is_used_up(bytes, |cursor| {
        for field in fields {
            if cursor.rest().is_empty() {
                break;
            }
            if let Some(bytes) = nullable(cursor)? {
                check(field, bytes)?;
            }
        }
        Ok(())
    })
}
