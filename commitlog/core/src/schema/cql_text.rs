//! Tables as CQL: the statements that change one table definition into another.
//!
//! The log contains definitions, not statements. The reader ignores options other than `cdc` and
//! the clustering order, so the statements omit them.

use std::mem::discriminant;

use super::{Column, ColumnKind, Table};
use crate::cql_type::{CqlType, UserType};

/// Words that need quotes when used as names (`reserved_keywords.txt`).
const RESERVED: &str = " add allow alter and apply asc authorize batch begin by columnfamily create \
    delete desc describe drop entries execute from full grant if in index infinity insert into is \
    keyspace limit materialized modify nan norecursive not null of on or order primary rename \
    revoke schema select set table to token truncate unlogged update use using view where with ";

/// Formats a name as CQL, with quotes if necessary.
fn identifier(name: &str) -> String {
    let mut chars = name.chars();
    let is_plain = chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && !RESERVED.contains(&format!(" {name} ")) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Formats the type of a column as CQL, such as `frozen<list<int>>`.
pub fn column_type(column: &Column) -> String {
    if column.multi_cell {
        unfrozen(&column.cql_type)
    } else {
        nested(&column.cql_type)
    }
}

/// Formats a type in a position where it must be frozen.
fn nested(cql_type: &CqlType) -> String {
    let text = unfrozen(cql_type);
    if cql_type.can_be_multi_cell() || matches!(cql_type, CqlType::Tuple(_)) {
        format!("frozen<{text}>")
    } else {
        text
    }
}

fn unfrozen(cql_type: &CqlType) -> String {
    match cql_type {
        CqlType::List(element) => format!("list<{}>", nested(element)),
        CqlType::Set(element) => format!("set<{}>", nested(element)),
        CqlType::Map(key, value) => format!("map<{}, {}>", nested(key), nested(value)),
        CqlType::Tuple(elements) => format!("tuple<{}>", join(elements.iter().map(nested))),
        CqlType::Vector(element, dimension) => format!("vector<{}, {dimension}>", nested(element)),
        CqlType::Udt(user_type) => identifier(&user_type.name),
        CqlType::Custom(class) => format!("'{class}'"),
        native => format!("{native:?}").to_lowercase(),
    }
}

fn join(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().collect::<Vec<_>>().join(", ")
}

fn names<'c>(columns: impl IntoIterator<Item = &'c Column>) -> String {
    join(columns.into_iter().map(|column| identifier(&column.name)))
}

fn definition(column: &Column) -> String {
    let is_static = column.kind == ColumnKind::Static;
    let suffix = if is_static { " static" } else { "" };
    let name = identifier(&column.name);
    format!("{name} {}{suffix}", column_type(column))
}

fn qualified(keyspace: &str, name: &str) -> String {
    format!("{}.{}", identifier(keyspace), identifier(name))
}

/// Formats `CREATE TABLE` with the columns, the clustering order and `cdc`.
pub(super) fn create_table(table: &Table) -> String {
    let columns = join(table.live_columns().map(definition));
    let mut key = names(&table.partition_key);
    if table.partition_key.len() > 1 {
        key = format!("({key})");
    }
    if !table.clustering.is_empty() {
        key = format!("{key}, {}", names(&table.clustering));
    }
    let mut order = String::new();
    if table.clustering.iter().any(|column| column.reversed) {
        let columns = table.clustering.iter().map(|column| {
            let order = if column.reversed { "DESC" } else { "ASC" };
            format!("{} {order}", identifier(&column.name))
        });
        order = format!("CLUSTERING ORDER BY ({}) AND ", join(columns));
    }
    let (name, cdc) = (qualified(&table.keyspace, &table.name), table.cdc);
    format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({key})) WITH {order}cdc = {cdc}")
}

pub(super) fn drop_table(table: &Table) -> String {
    format!("DROP TABLE {}", qualified(&table.keyspace, &table.name))
}

/// Returns the statements that change `before` into `after`, in an order that a node accepts.
pub(super) fn alter_table(before: &Table, after: &Table) -> Vec<String> {
    let name = qualified(&after.keyspace, &after.name);
    let mut statements = alter_types(before, after);
    let keys = before.key_columns().zip(after.key_columns());
    let renames: Vec<String> = keys
        .filter(|(before, after)| before.name != after.name)
        .map(|(before, after)| (identifier(&before.name), identifier(&after.name)))
        .map(|(old, new)| format!("{old} TO {new}"))
        .collect();
    if !renames.is_empty() {
        statements.push(format!(
            "ALTER TABLE {name} RENAME {}",
            renames.join(" AND ")
        ));
    }
    let is_in = |table: &Table, column: &Column| {
        let mut others = table.live_others();
        others.any(|other| other.is_namesake(column) && column_type(other) == column_type(column))
    };
    let dropped: Vec<&Column> = before.live_others().filter(|c| !is_in(after, c)).collect();
    if !dropped.is_empty() {
        statements.push(format!("ALTER TABLE {name} DROP {}", names(dropped)));
    }
    let added = after.live_others().filter(|c| !is_in(before, c));
    let added = join(added.map(definition));
    if !added.is_empty() {
        statements.push(format!("ALTER TABLE {name} ADD {added}"));
    }
    if before.cdc != after.cdc {
        statements.push(format!("ALTER TABLE {name} WITH cdc = {}", after.cdc));
    }
    statements
}

/// Returns the statements that change the user types in `before` into the types in `after`.
fn alter_types(before: &Table, after: &Table) -> Vec<String> {
    let mut statements = Vec::new();
    for column in after.live_columns() {
        let mut olds = before.live_columns();
        let old = olds.find(|old| old.is_namesake(column));
        if let Some(old) = old {
            alter_types_in(&old.cql_type, &column.cql_type, &mut statements);
        }
    }
    statements
}

fn alter_types_in(before: &CqlType, after: &CqlType, statements: &mut Vec<String>) {
    if discriminant(before) != discriminant(after) {
        return;
    }
    if let (CqlType::Udt(before), CqlType::Udt(after)) = (before, after) {
        alter_type(before, after, statements);
    }
    for (before, after) in before.parts().into_iter().zip(after.parts()) {
        alter_types_in(before, after, statements);
    }
}

fn alter_type(before: &UserType, after: &UserType, statements: &mut Vec<String>) {
    let name = qualified(&after.keyspace, &after.name);
    let mut push = |statement: String| {
        if !statements.contains(&statement) {
            statements.push(statement);
        }
    };
    for (before, after) in before.fields.iter().zip(&after.fields) {
        if before.name != after.name {
            let (old, new) = (identifier(&before.name), identifier(&after.name));
            push(format!("ALTER TYPE {name} RENAME {old} TO {new}"));
        }
    }
    for field in after.fields.iter().skip(before.fields.len()) {
        let field = format!("{} {}", identifier(&field.name), nested(&field.cql_type));
        push(format!("ALTER TYPE {name} ADD {field}"));
    }
}
