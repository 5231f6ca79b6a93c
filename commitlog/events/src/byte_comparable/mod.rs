//! Clustering keys as bytes that compare as the keys do.
//!
//! `memcmp` of two encodings of the same columns equals Cassandra's `ClusteringComparator`
//! of the keys; keys that it holds equal have equal bytes; no encoding is a prefix of
//! another. So an event consumer can sort, join and cut ranges without knowing a type.
//!
//! A component is a header byte and, for a value, bytes of its type (`docs/reference/types.md`):
//!
//! | component | header | reversed column |
//! | --- | --- | --- |
//! | null (compact tables) | `10` | `10` |
//! | empty, zero bytes | `20` | `df` |
//! | value | `40`, bytes | `bf`, each byte inverted |
//!
//! A null is the least in a reversed column too (`ClusteringComparator#compareComponent`).

mod composite;
mod number;
mod scalar;

use commitlog_core::cql_type::CqlType;

use crate::value::Result;

/// Ends a collection or tuple; below every header.
const END: u8 = 0x08;
const NULL: u8 = 0x10;
const EMPTY: u8 = 0x20;
const VALUE: u8 = 0x40;
/// Above everything that continues after a prefix, since every header is below it.
const AFTER: u8 = 0xff;

/// One clustering column of a key or bound.
#[derive(Debug, Clone, Copy)]
pub struct Component<'a> {
    pub ty: &'a CqlType,
    /// The column has `CLUSTERING ORDER … DESC`.
    pub reversed: bool,
    /// Value bytes (format notes §6.2); `None` is a null, zero bytes are an empty value.
    pub value: Option<&'a [u8]>,
}

/// Appends a clustering key. No components (no clustering columns, a static row) append nothing.
///
/// On an error `out` is as it was.
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

/// Appends a position between keys: before all keys that begin with the components of `prefix`,
/// or after all of them.
///
/// A row is in a range exactly if `start <= key < end` for the bytes of its bounds:
///
/// | bound | `after` |
/// | --- | --- |
/// | inclusive start, exclusive end | false |
/// | exclusive start, inclusive end | true |
///
/// Without a prefix the positions are before everything (no bytes) and after everything (`ff`).
/// On an error `out` is as it was.
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

/// Whether values of a type that compare as equal may differ in their bytes, as the decimals 1.0
/// and 1.00 do, two NaNs, and a tuple with and without a null at its end.
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

/// Header and bytes of a component, an element of a collection or a field of a tuple.
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

/// The bytes of a value that is not empty, without a header.
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
