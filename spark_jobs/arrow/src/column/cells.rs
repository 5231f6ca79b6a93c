//! Columns whose values are decoded one by one into an array builder.

use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::ArrowError;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, fixed, text};

use super::{Column, Element, check_room, has_empty, not_multi_cell};
use crate::Misfit;

struct Cells<B, A> {
    cql_type: CqlType,
    has_empty: bool,
    builder: B,
    append_null: fn(&mut B),
    append: A,
}

/// Creates a column of single-cell values; `append` decodes and appends one value.
pub fn cells<B, A>(
    cql_type: &CqlType,
    builder: B,
    append_null: fn(&mut B),
    append: A,
) -> Box<dyn Column>
where
    B: ArrayBuilder,
    A: FnMut(&mut B, &[u8]) -> Result<(), Misfit> + 'static,
{
    Box::new(Cells {
        cql_type: cql_type.clone(),
        has_empty: has_empty(cql_type),
        builder,
        append_null,
        append,
    })
}

impl<B, A> Column for Cells<B, A>
where
    B: ArrayBuilder,
    A: FnMut(&mut B, &[u8]) -> Result<(), Misfit>,
{
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        match bytes {
            Some(bytes) if self.has_empty || !bytes.is_empty() => {
                (self.append)(&mut self.builder, bytes)
            }
            _ => {
                (self.append_null)(&mut self.builder);
                Ok(())
            }
        }
    }

    fn append_elements(&mut self, _: &mut [Element<'_>]) -> Result<(), Misfit> {
        Err(not_multi_cell(&self.cql_type))
    }

    fn rows(&self) -> usize {
        self.builder.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.builder.finish()))
    }
}

/// Fixed-size numbers, such as `int` and `date`.
pub fn numbers<T: ArrowPrimitiveType, const N: usize>(
    cql_type: &CqlType,
    builder: PrimitiveBuilder<T>,
    read: fn([u8; N]) -> T::Native,
) -> Box<dyn Column> {
    let own_type = cql_type.clone();
    let append = move |builder: &mut PrimitiveBuilder<T>, bytes: &[u8]| {
        builder.append_value(read(fixed(&own_type, bytes)?));
        Ok(())
    };
    cells(cql_type, builder, PrimitiveBuilder::append_null, append)
}

/// `ascii` and `text`. Cassandra stores only valid text, so invalid bytes are rejected.
pub fn texts(cql_type: &CqlType) -> Box<dyn Column> {
    let (name, encoding) = match cql_type {
        CqlType::Ascii => ("ascii", "ASCII"),
        _ => ("text", "UTF-8"),
    };
    let is_ascii = *cql_type == CqlType::Ascii;
    let append = move |builder: &mut StringBuilder, bytes: &[u8]| {
        check_room(builder.values_slice().len(), bytes.len())?;
        match std::str::from_utf8(bytes) {
            Ok(text) if !is_ascii || text.is_ascii() => {
                builder.append_value(text);
                Ok(())
            }
            _ => Err(Misfit::Text {
                cql_type: name,
                encoding,
                length: bytes.len(),
            }),
        }
    };
    cells(
        cql_type,
        StringBuilder::new(),
        StringBuilder::append_null,
        append,
    )
}

/// Blobs and values of custom types, which stay bytes.
pub fn blobs(cql_type: &CqlType) -> Box<dyn Column> {
    let append = |builder: &mut BinaryBuilder, bytes: &[u8]| {
        check_room(builder.values_slice().len(), bytes.len())?;
        builder.append_value(bytes);
        Ok(())
    };
    cells(
        cql_type,
        BinaryBuilder::new(),
        BinaryBuilder::append_null,
        append,
    )
}

/// Types whose values are rendered as text, all of it ASCII.
pub fn printed(cql_type: &CqlType) -> Box<dyn Column> {
    let own_type = cql_type.clone();
    let mut text = Vec::new();
    let append = move |builder: &mut StringBuilder, bytes: &[u8]| {
        text.clear();
        match own_type {
            CqlType::Inet => write_inet(&mut text, bytes)?,
            _ => text::write_text(&mut text, &own_type, bytes)?,
        }
        check_room(builder.values_slice().len(), text.len())?;
        builder.append_value(std::str::from_utf8(&text).unwrap_or_default());
        Ok(())
    };
    cells(
        cql_type,
        StringBuilder::new(),
        StringBuilder::append_null,
        append,
    )
}

/// Writes the short form (RFC 5952). An IPv4-mapped IPv6 address stays an IPv6 address.
fn write_inet(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ValueError> {
    // Writing into a Vec cannot fail.
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        let _ = write!(out, "{}", Ipv4Addr::from(octets));
    } else if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        let _ = write!(out, "{}", Ipv6Addr::from(octets));
    } else {
        return Err(ValueError::length(&CqlType::Inet, "4 or 16", bytes.len()));
    }
    Ok(())
}
