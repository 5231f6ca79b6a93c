//! Encodes clustering keys as bytes that sort like the keys.
//!
//! `memcmp` of two encodings gives the same order as Cassandra's `ClusteringComparator`. Keys that
//! compare as equal have equal bytes, and no encoding is a prefix of another. A consumer of events
//! can therefore sort, join and compare ranges without knowing the types.
//!
//! A component is a header byte, followed by the value if there is one (`docs/reference/types.md`):
//!
//! | component | header | reversed column |
//! | --- | --- | --- |
//! | null (compact tables) | `10` | `10` |
//! | empty, zero bytes | `20` | `df` |
//! | value | `40`, bytes | `bf`, each byte inverted |
//!
//! A null sorts first even in a reversed column (`ClusteringComparator#compareComponent`).

mod composite;
mod number;
mod scalar;

use commitlog_core::cql_type::CqlType;

use crate::value::Result;

/// Ends a collection or tuple; it sorts before every header.
const END: u8 = 0x08;
const NULL: u8 = 0x10;
const EMPTY: u8 = 0x20;
const VALUE: u8 = 0x40;
/// Sorts after every continuation of a prefix, because it is above every header.
const AFTER: u8 = 0xff;

/// One clustering column of a key or bound.
#[derive(Debug, Clone, Copy)]
pub struct Component<'a> {
    pub ty: &'a CqlType,
    /// The column has `CLUSTERING ORDER … DESC`.
    pub reversed: bool,
    /// Value bytes (format notes §6.2); `None` is a null, an empty slice is an empty value.
    pub value: Option<&'a [u8]>,
}

/// Appends a clustering key; nothing for a static row or a table without clustering columns.
///
/// On an error, `out` remains unchanged.
pub fn write_clustering<'a>(
    out: &mut Vec<u8>,
    components: impl IntoIterator<Item = Component<'a>>,
) -> Result<()> {
    let start = out.len();
    for component in components {
        if let Err(error) = write_component(out, component) {
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
}

/// Appends a position between keys: before or after all keys that begin with the components of
/// `prefix`.
///
/// A row is inside a range if and only if `start <= key < end` holds for the encoded bounds:
///
/// | bound | `after` |
/// | --- | --- |
/// | inclusive start, exclusive end | false |
/// | exclusive start, inclusive end | true |
///
/// With an empty prefix, the position is before all keys (no bytes) or after all keys (`ff`).
/// On an error, `out` remains unchanged.
pub fn write_bound<'a>(
    out: &mut Vec<u8>,
    prefix: impl IntoIterator<Item = Component<'a>>,
    after: bool,
) -> Result<()> {
    write_clustering(out, prefix)?;
    if after {
        out.push(AFTER);
    }
    Ok(())
}

/// Returns whether equal values of a type may differ in their bytes, such as the decimals 1.0 and
/// 1.00, two NaNs, or a tuple with and without a trailing null.
pub fn equals_differ(ty: &CqlType) -> bool {
    match ty {
        CqlType::Boolean
        | CqlType::Decimal
        | CqlType::Double
        | CqlType::Float
        | CqlType::VarInt
        | CqlType::Tuple(_)
        | CqlType::Udt(_) => true,
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
            equals_differ(element)
        }
        CqlType::Map(key, value) => equals_differ(key) || equals_differ(value),
        _ => false,
    }
}

fn write_component(out: &mut Vec<u8>, component: Component<'_>) -> Result<()> {
    let start = out.len();
    write_nullable(out, component.ty, component.value)?;
    if component.reversed && component.value.is_some() {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
    Ok(())
}

/// Writes the header and bytes of a component, a collection element or a tuple field.
fn write_nullable(out: &mut Vec<u8>, ty: &CqlType, bytes: Option<&[u8]>) -> Result<()> {
    match bytes {
        None => out.push(NULL),
        Some([]) => out.push(EMPTY),
        Some(bytes) => {
            out.push(VALUE);
            write_value(out, ty, bytes)?;
        }
    }
    Ok(())
}

/// Writes a non-empty value without a header.
fn write_value(out: &mut Vec<u8>, ty: &CqlType, bytes: &[u8]) -> Result<()> {
    match ty {
        CqlType::List(element) | CqlType::Set(element) => {
            composite::write_list(out, ty, element, bytes)
        }
        CqlType::Map(key, value) => composite::write_map(out, ty, key, value, bytes),
        CqlType::Tuple(fields) => composite::write_fields(out, ty, fields, bytes),
        CqlType::Udt(user_type) => {
            let fields = user_type.fields.iter().map(|field| &field.cql_type);
            composite::write_fields(out, ty, fields, bytes)
        }
        CqlType::Vector(element, dimension) => {
            composite::write_vector(out, ty, element, *dimension, bytes)
        }
        _ => scalar::write_scalar(out, ty, bytes),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests;
