use commitlog_core::cql_type::{CqlType, UserType};
use commitlog_core::row::{Cell, CellState};

use super::super::hex::write_uuid;
use super::composite::EntryWriter;
use super::{Result, ValueError, ValueModes, fixed, write_nullable, write_string, write_value};

/// One cell of a column that is stored cell by cell (a non-frozen collection or UDT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementCell<'a> {
    /// List: the time UUID of the position. Set: the element. Map: the key. UDT: the index of
    /// the field, two bytes.
    pub path: &'a [u8],
    /// The value bytes; empty for a set and for a tombstone.
    pub value: &'a [u8],
    pub tombstone: bool,
}

impl<'a> ElementCell<'a> {
    pub fn from_cell(cell: &Cell<'a>) -> Self {
        Self {
            path: cell.path.unwrap_or_default(),
            value: cell.value,
            tombstone: matches!(cell.state, CellState::Tombstone(_)),
        }
    }
}

/// Appends the JSON of one column's cells in a row, in the given order.
///
/// A list or set is an array of its live elements. A map is an object or an array of pairs, with
/// `null` for deleted keys. A UDT is an object of the changed fields, with `null` for deleted ones.
/// Returns the number of deleted list or set elements, which the array omits; [`write_removed`]
/// writes them. On an error, `out` remains unchanged.
pub fn write_multi_cell<'a>(
    out: &mut Vec<u8>,
    ty: &CqlType,
    cells: impl IntoIterator<Item = ElementCell<'a>>,
    modes: &ValueModes,
) -> Result<usize> {
    let start = out.len();
    let cells = cells.into_iter();
    let written = match ty {
        CqlType::List(element) => write_elements(out, element, cells, |cell| cell.value, *modes),
        CqlType::Set(element) => write_elements(out, element, cells, |cell| cell.path, *modes),
        CqlType::Map(key, value) => write_entries(out, key, value, cells, *modes),
        CqlType::Udt(user_type) => write_fields(out, ty, user_type, cells, *modes),
        _ => Err(ValueError::not_multi_cell(ty)),
    };
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends a JSON array of the deleted elements of a list or set: a set by element, a list by the
/// time UUID of the position.
///
/// The array is empty for a map or UDT, whose JSON already contains deletions. On an error, `out`
/// remains unchanged.
pub fn write_removed<'a>(
    out: &mut Vec<u8>,
    ty: &CqlType,
    cells: impl IntoIterator<Item = ElementCell<'a>>,
    modes: &ValueModes,
) -> Result<()> {
    let start = out.len();
    let cells = cells.into_iter();
    let element = match ty {
        CqlType::List(_) => &CqlType::TimeUuid,
        CqlType::Set(element) => element,
        CqlType::Map(..) | CqlType::Udt(_) => {
            out.extend_from_slice(b"[]");
            return Ok(());
        }
        _ => return Err(ValueError::not_multi_cell(ty)),
    };
    let mut array = ArrayWriter::open(out);
    for cell in cells.filter(|cell| cell.tombstone) {
        array.next(out);
        if let Err(error) = write_removed_element(out, ty, element, cell.path, *modes) {
            out.truncate(start);
            return Err(error);
        }
    }
    out.push(b']');
    Ok(())
}

fn write_removed_element(
    out: &mut Vec<u8>,
    ty: &CqlType,
    element: &CqlType,
    path: &[u8],
    modes: ValueModes,
) -> Result<()> {
    if !matches!(ty, CqlType::List(_)) {
        return write_value(out, element, path, modes);
    }
    let uuid = fixed(element, path)?;
    out.push(b'"');
    write_uuid(out, uuid);
    out.push(b'"');
    Ok(())
}

fn write_elements<'a>(
    out: &mut Vec<u8>,
    element: &CqlType,
    cells: impl Iterator<Item = ElementCell<'a>>,
    bytes_of: impl Fn(ElementCell<'a>) -> &'a [u8],
    modes: ValueModes,
) -> Result<usize> {
    let mut removed = 0_usize;
    let mut array = ArrayWriter::open(out);
    for cell in cells {
        if cell.tombstone {
            removed = removed.saturating_add(1);
        } else {
            array.next(out);
            write_value(out, element, bytes_of(cell), modes)?;
        }
    }
    out.push(b']');
    Ok(removed)
}

fn write_entries<'a>(
    out: &mut Vec<u8>,
    key: &CqlType,
    value: &CqlType,
    cells: impl Iterator<Item = ElementCell<'a>>,
    modes: ValueModes,
) -> Result<usize> {
    let mut entries = EntryWriter::open(out, key, value, modes);
    for cell in cells {
        entries.write(out, Some(cell.path), live_value(cell))?;
    }
    entries.close(out);
    Ok(0)
}

fn write_fields<'a>(
    out: &mut Vec<u8>,
    ty: &CqlType,
    user_type: &UserType,
    cells: impl Iterator<Item = ElementCell<'a>>,
    modes: ValueModes,
) -> Result<usize> {
    let mut is_first = true;
    out.push(b'{');
    for cell in cells {
        let index = u16::from_be_bytes(fixed(&CqlType::SmallInt, cell.path)?);
        let Some(field) = user_type.fields.get(usize::from(index)) else {
            return Err(ValueError::unknown_field(ty, index, user_type.fields.len()));
        };
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write_string(out, field.name.as_bytes());
        out.push(b':');
        write_nullable(out, &field.cql_type, live_value(cell), modes)?;
    }
    out.push(b'}');
    Ok(0)
}

fn live_value(cell: ElementCell<'_>) -> Option<&[u8]> {
    (!cell.tombstone).then_some(cell.value)
}

/// Writes the brackets and commas of an array.
struct ArrayWriter {
    is_first: bool,
}

impl ArrayWriter {
    fn open(out: &mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { is_first: true }
    }

    fn next(&mut self, out: &mut Vec<u8>) {
        if !self.is_first {
            out.push(b',');
        }
        self.is_first = false;
    }
}
