//! The bounds of a range deletion in `after`.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Table, marshal_name};

use crate::event::Bound;
use crate::value::Result;
use crate::value::json::write_string;
use crate::value::text::write_json_text;

/// Appends name, value and type of one column of a bound.
pub fn write_bound_value(out: &mut Vec<u8>, value: &BoundValue<'_>) -> Result<()> {
    out.extend_from_slice(b"{\"name\":");
    write_string(out, value.name.as_bytes());
    out.extend_from_slice(b",\"value\":");
    match value.bytes {
        Some(bytes) => write_json_text(out, value.cql_type, bytes)?,
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"type\":");
    write_string(out, value.class.as_bytes());
    out.push(b'}');
    Ok(())
}

/// One column of a bound.
pub struct BoundValue<'b> {
    pub name: std::borrow::Cow<'b, str>,
    pub bytes: Option<&'b [u8]>,
    pub cql_type: &'b CqlType,
    /// The Java class of its type.
    pub class: String,
}

/// Returns the columns of a bound.
pub fn bound_values<'b>(
    table: &'b Table,
    bound: &Bound<'b, 'b>,
) -> impl ExactSizeIterator<Item = BoundValue<'b>> {
    let columns = table.clustering.iter().zip(bound.clustering);
    columns.map(|(column, value)| BoundValue {
        name: cql_identifier(&column.name),
        bytes: *value,
        cql_type: &column.cql_type,
        class: marshal_name(&column.cql_type, column.multi_cell, column.reversed),
    })
}

/// Quotes a name unless it is plain lower case, as in CQL (`ColumnIdentifier#toCQLString`).
fn cql_identifier(name: &str) -> std::borrow::Cow<'_, str> {
    let mut characters = name.chars();
    let is_plain = characters.next().is_some_and(|c| c.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain {
        name.into()
    } else {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    }
}
