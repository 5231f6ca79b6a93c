//! Schemas out of CQL text.
mod compact_storage;
mod dropped_columns;
mod errors;
mod tables;
mod views;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{ColumnKind, Schema, SchemaError, Table, parse_cql};

const ID: &str = "483d7350-e5c9-11f1-998c-b39dc08f01bb";
const OTHER_ID: &str = "4d64e0c0-e5c9-11f1-998c-b39dc08f01bb";

fn schema(text: &str) -> Schema {
    parse_cql(&text.replace("$ID", ID).replace("$OTHER", OTHER_ID)).unwrap()
}

/// The only table of a text.
fn table(text: &str) -> Table {
    let schema = schema(text);
    let tables = schema.tables();
    assert_eq!(tables.len(), 1);
    Table::clone(tables[0])
}

fn error(text: &str) -> (usize, String) {
    match parse_cql(&text.replace("$ID", ID)).unwrap_err() {
        SchemaError::Syntax { line, what } => (line, what),
        other @ SchemaError::Table { .. } => (0, other.to_string()),
    }
}

/// Name, kind, type, multi_cell, reversed and drop time.
type ColumnTuple<'a> = (&'a str, ColumnKind, CqlType, bool, bool, Option<i64>);

/// Every column, key columns first.
fn columns(table: &Table) -> Vec<ColumnTuple<'_>> {
    (table.partition_key.iter())
        .chain(&table.clustering)
        .chain(&table.columns)
        .map(|column| {
            (
                column.name.as_str(),
                column.kind,
                column.cql_type.clone(),
                column.multi_cell,
                column.reversed,
                column.dropped_at_us,
            )
        })
        .collect()
}

fn live(name: &str, kind: ColumnKind, cql_type: CqlType) -> ColumnTuple<'_> {
    (name, kind, cql_type, false, false, None)
}
