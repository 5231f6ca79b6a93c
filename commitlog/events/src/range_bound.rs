//! The members of an event that say which range is deleted.

use commitlog_core::schema::{Table, marshal_name};

use crate::event::Bound;
use crate::value::ValueError;
use crate::value::json::write_string;
use crate::value::text::write_json_text;

/// Appends one side: the kind of the bound, and name, value and type of each column that it has.
pub fn write_bound(
    out: &mut Vec<u8>,
    table: &Table,
    bound: &Bound<'_, '_>,
) -> Result<(), ValueError> {
    out.extend_from_slice(b"{\"method\":\"");
    out.extend_from_slice(bound.kind.name().as_bytes());
    out.extend_from_slice(b"\",\"values\":[");
    let mut separator: &[u8] = b"{\"name\":";
    for (column, value) in table.clustering.iter().zip(bound.clustering) {
        out.extend_from_slice(separator);
        separator = b",{\"name\":";
        write_string(out, cql_identifier(&column.name).as_bytes());
        out.extend_from_slice(b",\"value\":");
        match value {
            Some(value) => write_json_text(out, &column.cql_type, value)?,
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"type\":");
        let class = marshal_name(&column.cql_type, column.multi_cell, column.reversed);
        write_string(out, class.as_bytes());
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// A name as CQL writes it: quoted unless it is plain lower case (`ColumnIdentifier#toCQLString`).
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
