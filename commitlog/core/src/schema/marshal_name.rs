//! Cassandra's Java class names for types.

use std::fmt::Write;

use super::marshal_class::PACKAGE;
use crate::cql_type::{CqlType, UserType};

/// Returns Cassandra's name for a column's type (`AbstractType#toString`).
///
/// `multi_cell` and `reversed` describe the column ([`super::Column`]). Frozen collections and user
/// types are wrapped in `FrozenType(…)`, but not inside other frozen types or tuples. A descending
/// clustering column is wrapped in `ReversedType(…)`.
pub fn marshal_name(cql_type: &CqlType, multi_cell: bool, reversed: bool) -> String {
    let mut name = String::new();
    if reversed {
        open(&mut name, "ReversedType");
    }
    write_type(&mut name, cql_type, multi_cell, false);
    if reversed {
        name.push(')');
    }
    name
}

/// Writes a type; `inside_frozen` omits `FrozenType`.
fn write_type(name: &mut String, cql_type: &CqlType, multi_cell: bool, inside_frozen: bool) {
    let frozen = cql_type.can_be_multi_cell() && !multi_cell && !inside_frozen;
    if frozen {
        open(name, "FrozenType");
    }
    let within = inside_frozen || !multi_cell;
    match cql_type {
        CqlType::List(element) => parameters(name, "ListType", [&**element], within),
        CqlType::Set(element) => parameters(name, "SetType", [&**element], within),
        CqlType::Map(key, value) => parameters(name, "MapType", [&**key, &**value], within),
        CqlType::Tuple(elements) => parameters(name, "TupleType", elements, true),
        CqlType::Udt(user_type) => write_user_type(name, user_type, within),
        CqlType::Vector(element, dimension) => {
            open(name, "VectorType");
            write_type(name, element, false, inside_frozen);
            push(name, format_args!(" , {dimension})"));
        }
        CqlType::Custom(class) => name.push_str(class),
        native => {
            let (_, class) = native.native_names().unwrap_or_default();
            push(name, format_args!("{PACKAGE}{class}"));
        }
    }
    if frozen {
        name.push(')');
    }
}

fn parameters<'a>(
    name: &mut String,
    class: &str,
    types: impl IntoIterator<Item = &'a CqlType>,
    inside_frozen: bool,
) {
    open(name, class);
    for (index, parameter) in types.into_iter().enumerate() {
        if index > 0 {
            name.push(',');
        }
        write_type(name, parameter, false, inside_frozen);
    }
    name.push(')');
}

/// Writes `UserType(keyspace,hex of the name,hex of a field:type,…)`.
fn write_user_type(name: &mut String, user_type: &UserType, inside_frozen: bool) {
    open(name, "UserType");
    push(name, format_args!("{},", user_type.keyspace));
    push_hex(name, &user_type.name);
    for field in &user_type.fields {
        name.push(',');
        push_hex(name, &field.name);
        name.push(':');
        write_type(name, &field.cql_type, false, inside_frozen);
    }
    name.push(')');
}

fn open(name: &mut String, class: &str) {
    push(name, format_args!("{PACKAGE}{class}("));
}

fn push_hex(name: &mut String, text: &str) {
    for byte in text.bytes() {
        push(name, format_args!("{byte:02x}"));
    }
}

fn push(name: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = name.write_fmt(text);
}
