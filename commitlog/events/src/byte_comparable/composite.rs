use commitlog_core::cql_type::CqlType;

use super::{END, NULL, write_nullable, write_value};
use crate::value::{Result, ValueReader};

/// Writes the elements, then the end, so that a prefix sorts first (`ListType`, `SetType`).
pub(super) fn write_list(
    out: &mut Vec<u8>,
    ty: &CqlType,
    element: &CqlType,
    bytes: &[u8],
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    for _ in 0..reader.read_count()? {
        write_nullable(out, element, reader.read_element()?)?;
    }
    out.push(END);
    reader.finish()
}

/// Writes key, value, key, value …, then the end (`MapType`).
pub(super) fn write_map(
    out: &mut Vec<u8>,
    ty: &CqlType,
    key: &CqlType,
    value: &CqlType,
    bytes: &[u8],
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    for _ in 0..reader.read_count()? {
        write_nullable(out, key, reader.read_element()?)?;
        write_nullable(out, value, reader.read_element()?)?;
    }
    out.push(END);
    reader.finish()
}

/// Writes the fields up to the last non-null field, then the end (`TupleType`). A value written
/// before a field was added thus equals a value whose field is null.
pub(super) fn write_fields<'t>(
    out: &mut Vec<u8>,
    ty: &CqlType,
    fields: impl IntoIterator<Item = &'t CqlType>,
    bytes: &[u8],
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    let mut nulls = 0_usize;
    for field in fields {
        if reader.is_at_end() {
            break;
        }
        let Some(bytes) = reader.read_element()? else {
            nulls = nulls.saturating_add(1);
            continue;
        };
        out.extend(std::iter::repeat_n(NULL, std::mem::take(&mut nulls)));
        write_nullable(out, field, Some(bytes))?;
    }
    out.push(END);
    reader.finish()
}

/// Writes elements, with headers unless their length is fixed (`VectorType`).
pub(super) fn write_vector(
    out: &mut Vec<u8>,
    ty: &CqlType,
    element: &CqlType,
    dimension: u32,
    bytes: &[u8],
) -> Result<()> {
    let mut reader = ValueReader::of_vector(ty, bytes)?;
    let fixed_length = element.fixed_length();
    for _ in 0..dimension {
        match fixed_length {
            Some(length) => write_value(out, element, reader.read_bytes(length)?)?,
            None => write_nullable(out, element, Some(reader.read_vbytes()?))?,
        }
    }
    reader.finish()
}
