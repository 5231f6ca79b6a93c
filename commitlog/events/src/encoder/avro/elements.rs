//! Multi-cell columns as Avro: the written and the removed elements.

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::Cell;

use crate::avro::value::{END, NULL, THERE, ValueWriter, block};
use crate::encoder::visitor::Written;
use crate::event_writer::Out;
use crate::value::json::ElementCell;
use crate::value::{Result, ValueError, fixed};

/// The end of a live value: `deletion_ts` null, `set` true.
pub(super) const END_LIVE: &[u8; 2] = &[0, 1];

/// Writes the elements that the statement wrote, not the whole collection. `removed` lists the
/// elements that it deleted from a list, set or user type.
#[inline(never)]
pub(super) fn write_elements<'b>(
    values: &mut ValueWriter<'_>,
    mut out: Out<'b>,
    ty: &CqlType,
    cells: &[Cell<'_>],
) -> Written<'b> {
    let elements = cells.iter().map(ElementCell::from_cell);
    let removed = elements.clone().filter(|cell| cell.tombstone);
    let count = removed.clone().count() as i64;
    out.literal(THERE);
    match ty {
        // A completely deleted user type has no fields left.
        CqlType::Udt(_) if cells.is_empty() => out.literal(NULL),
        _ => out.literal(THERE),
    }
    match ty {
        CqlType::List(element) => {
            out = values.elements(out, element, elements, |cell| cell.value)?;
        }
        CqlType::Set(element) => {
            out = values.elements(out, element, elements, |cell| cell.path)?;
        }
        CqlType::Map(key, value) => {
            out = values.entries(out, key, value, elements)?;
            out.literal(END_LIVE);
            return Ok(out);
        }
        CqlType::Udt(_) if cells.is_empty() => {}
        CqlType::Udt(user_type) => {
            let fields = user_type.fields.len();
            let unknown = |cell: &ElementCell<'_>| {
                field_index(cell).map(|index| (index >= fields).then_some(index as u16))
            };
            for cell in elements.clone() {
                if let Some(index) = unknown(&cell)? {
                    return Err(ValueError::unknown_field(ty, index, fields));
                }
            }
            for (index, field) in user_type.fields.iter().enumerate() {
                let is_field = |cell: &ElementCell<'_>| field_index(cell) == Ok(index);
                let live = elements
                    .clone()
                    .filter(|cell| !cell.tombstone)
                    .find(is_field);
                let value = live.map(|cell| cell.value);
                out = values.nullable(out, &field.cql_type, value)?;
            }
        }
        _ => return Err(ValueError::not_multi_cell(ty)),
    }
    out.literal(END_LIVE);
    if count == 0 {
        out.literal(NULL);
        return Ok(out);
    }
    out.literal(THERE);
    out = block(out, count);
    for cell in removed {
        match ty {
            CqlType::Set(element) => {
                out = values.nullable(out, element, Some(cell.path))?;
            }
            CqlType::Udt(user_type) => {
                let field = user_type.fields.get(field_index(&cell)?);
                out.bytes(field.map_or(&[][..], |field| field.name.as_bytes()));
            }
            _ => out = values.value(out, &CqlType::TimeUuid, cell.path)?,
        }
    }
    out.literal(END);
    Ok(out)
}

fn field_index(cell: &ElementCell<'_>) -> Result<usize> {
    let index = fixed(&CqlType::SmallInt, cell.path)?;
    Ok(usize::from(u16::from_be_bytes(index)))
}
