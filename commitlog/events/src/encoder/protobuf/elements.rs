//! Multi-cell columns as Protobuf: the written and the removed elements.

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::Cell;

use crate::protobuf::field::column::{REMOVED, VALUE};
use crate::protobuf::value::ValueWriter;
use crate::value::json::ElementCell;
use crate::value::{Result, ValueError, fixed};

/// Writes the elements that the statement wrote, not the whole collection. `removed` lists the
/// elements that it deleted from a list, set or user type.
pub(super) fn write_elements(
    values: &mut ValueWriter<'_>,
    ty: &CqlType,
    cells: &[Cell<'_>],
) -> Result<()> {
    let elements = || cells.iter().map(ElementCell::from_cell);
    match ty {
        CqlType::List(element) => {
            values.elements(VALUE, element, elements(), |cell| cell.value)?;
        }
        CqlType::Set(element) => {
            values.elements(VALUE, element, elements(), |cell| cell.path)?;
        }
        CqlType::Map(key, value) => return values.entries(VALUE, key, value, elements()),
        // A completely deleted user type has no fields left.
        CqlType::Udt(_) if cells.is_empty() => {}
        CqlType::Udt(user_type) => {
            let fields = &user_type.fields;
            values.buffer.open(VALUE);
            for cell in elements() {
                let index = field_index(&cell)?;
                let Some(field) = fields.get(index) else {
                    return Err(ValueError::unknown_field(ty, index as u16, fields.len()));
                };
                if !cell.tombstone {
                    let number = index as u32 + 1;
                    values.field(number, &field.cql_type, Some(cell.value))?;
                }
            }
            values.buffer.close();
        }
        _ => return Err(ValueError::not_multi_cell(ty)),
    }
    for cell in elements().filter(|cell| cell.tombstone) {
        match ty {
            CqlType::Set(element) => {
                values.field(REMOVED, element, Some(cell.path))?;
            }
            CqlType::Udt(user_type) => {
                let field = user_type.fields.get(field_index(&cell)?);
                let name = field.map_or(&[][..], |field| field.name.as_bytes());
                values.string(REMOVED, name);
            }
            _ => {
                values.field(REMOVED, &CqlType::TimeUuid, Some(cell.path))?;
            }
        }
    }
    Ok(())
}

fn field_index(cell: &ElementCell<'_>) -> Result<usize> {
    let index = fixed(&CqlType::SmallInt, cell.path)?;
    Ok(usize::from(u16::from_be_bytes(index)))
}
