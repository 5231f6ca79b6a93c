//! A schema as CQL, the way `DESCRIBE … WITH INTERNALS` lays it out.

use std::fmt::Write;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, ColumnKind, Table, TableKind, UserTypes, parse_type};

use super::random_schema::{RandomSchema, RandomTable};

/// Words that DESCRIBE quotes, and some that it does not.
const QUOTED: [&str; 11] = [
    "primary", "key", "static", "select", "frozen", "list", "int", "with", "and", "id", "cdc",
];

const BETWEEN: [&str; 4] = [
    "\n",
    "\n/* comment; 'with' \"quotes\" */\n",
    "CREATE INDEX i ON ks.t (v); -- it's one\n",
    "CREATE FUNCTION ks.f() RETURNS int AS $$ ; ' \" $$;\n",
];

/// `layout` chooses what stands between the statements and the order of the types.
pub fn schema(schema: &RandomSchema, layout: u64) -> String {
    let mut text = String::from("CREATE KEYSPACE ks WITH replication = {'class': 'x'};\n");
    let mut statements: Vec<String> = Vec::new();
    for user_type in &schema.types {
        let fields: Vec<String> = (user_type.fields.iter())
            .map(|field| format!("    {} {}", name(&field.name), nested(&field.cql_type)))
            .collect();
        statements.push(format!(
            "CREATE TYPE ks.{} (\n{}\n);",
            type_name(&user_type.name),
            fields.join(",\n")
        ));
    }
    if layout & 1 == 1 {
        statements.reverse();
    }
    statements.extend(schema.tables.iter().map(|random| match random.table.kind {
        TableKind::Table => table(random),
        TableKind::View => view(random),
    }));
    for (place, statement) in statements.iter().enumerate() {
        text.push_str(statement);
        let choice = layout >> (1 + 2 * (place % 31)) & 3;
        text.push_str(BETWEEN[usize::try_from(choice).unwrap()]);
    }
    text
}

fn table(random: &RandomTable) -> String {
    let table = &random.table;
    let mut text = format!("CREATE TABLE ks.{} (\n", name(&table.name));
    let is_readded = |column: &&Column| random.readded.iter().all(|r| r.name != column.name);
    let keys = table.partition_key.iter().chain(&table.clustering);
    let others = table.columns.iter().filter(is_readded);
    for column in keys.chain(others).chain(&random.readded) {
        writeln!(text, "    {},", definition(column)).unwrap();
    }
    writeln!(
        text,
        "    PRIMARY KEY {}\n) WITH {}",
        primary_key(table),
        options(table)
    )
    .unwrap();
    let dropped = table.columns.iter().chain(&random.readded);
    for column in dropped {
        if let Some(time) = column.dropped_at_us {
            let (table, column) = (name(&table.name), name(&column.name));
            writeln!(
                text,
                "ALTER TABLE ks.{table} DROP {column} USING TIMESTAMP {time};"
            )
            .unwrap();
        }
    }
    for column in &random.readded {
        writeln!(
            text,
            "ALTER TABLE ks.{} ADD {};",
            name(&table.name),
            definition(column)
        )
        .unwrap();
    }
    text
}

fn view(random: &RandomTable) -> String {
    let (table, base) = (&random.table, random.base.as_ref().unwrap());
    let regular = base.columns.iter();
    let in_base = regular.filter(|c| c.kind == ColumnKind::Regular && c.dropped_at_us.is_none());
    let keys = table.partition_key.iter().chain(&table.clustering);
    let select = if in_base.count() == table.columns.len() {
        "*".to_owned()
    } else {
        names(keys.chain(&table.columns))
    };
    format!(
        "CREATE MATERIALIZED VIEW ks.{} AS\n    SELECT {select}\n    FROM ks.{}\n    \
         WHERE a IS NOT NULL\n    PRIMARY KEY {}\n WITH {}",
        name(&table.name),
        name(&base.name),
        primary_key(table),
        options(table)
    )
}

fn definition(column: &Column) -> String {
    let cql_type = if column.multi_cell {
        unfrozen(&column.cql_type)
    } else {
        nested(&column.cql_type)
    };
    let is_static = column.kind == ColumnKind::Static;
    let suffix = if is_static { " static" } else { "" };
    format!("{} {cql_type}{suffix}", name(&column.name))
}

fn primary_key(table: &Table) -> String {
    let mut text = names(&table.partition_key);
    if table.partition_key.len() > 1 {
        text = format!("({text})");
    }
    if !table.clustering.is_empty() {
        text = format!("{text}, {}", names(&table.clustering));
    }
    format!("({text})")
}

fn options(table: &Table) -> String {
    let mut text = format!("ID = {}", table.id);
    if !table.clustering.is_empty() {
        let order = |column: &Column| {
            let order = if column.reversed { "DESC" } else { "ASC" };
            format!("{} {order}", name(&column.name))
        };
        let orders: Vec<String> = table.clustering.iter().map(order).collect();
        write!(
            text,
            "\n    AND CLUSTERING ORDER BY ({})",
            orders.join(", ")
        )
        .unwrap();
    }
    write!(
        text,
        "\n    AND caching = {{'keys': 'ALL'}}\n    AND cdc = {}\n    AND comment = 'it''s; \"';",
        table.cdc
    )
    .unwrap();
    text
}

fn names<'a>(columns: impl IntoIterator<Item = &'a Column>) -> String {
    let names: Vec<String> = columns
        .into_iter()
        .map(|column| name(&column.name))
        .collect();
    names.join(", ")
}

fn name(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain && !QUOTED.contains(&name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// The name of a user type; quoted where it would be a native one.
fn type_name(text: &str) -> String {
    match parse_type(text, "", &UserTypes::default()) {
        Ok(_) => format!("\"{text}\""),
        Err(_) => name(text),
    }
}

/// A type where it must be frozen.
pub fn nested(cql_type: &CqlType) -> String {
    let text = unfrozen(cql_type);
    if cql_type.can_be_multi_cell() || matches!(cql_type, CqlType::Tuple(_)) {
        format!("frozen<{text}>")
    } else {
        text
    }
}

pub fn unfrozen(cql_type: &CqlType) -> String {
    match cql_type {
        CqlType::List(element) => format!("list<{}>", nested(element)),
        CqlType::Set(element) => format!("set<{}>", nested(element)),
        CqlType::Map(key, value) => format!("map<{}, {}>", nested(key), nested(value)),
        CqlType::Tuple(elements) => {
            let elements: Vec<String> = elements.iter().map(nested).collect();
            format!("tuple<{}>", elements.join(", "))
        }
        CqlType::Vector(element, n) => format!("vector<{}, {n}>", nested(element)),
        CqlType::Udt(user_type) => type_name(&user_type.name),
        CqlType::Custom(class) => format!("'{class}'"),
        native => format!("{native:?}").to_lowercase(),
    }
}
