//! A schema as the rows of `system_schema`.

use commitlog_core::schema::{Column, ColumnKind, TableKind};
use serde_json::{Value, json};

use super::print_cql::{nested, unfrozen};
use super::random_schema::{RandomSchema, RandomTable};

pub fn schema(schema: &RandomSchema) -> Value {
    let types: Vec<Value> = (schema.types.iter())
        .map(|user_type| {
            let fields = user_type.fields.iter();
            json!({
                "keyspace_name": "ks",
                "type_name": user_type.name,
                "field_names": fields.clone().map(|field| &field.name).collect::<Vec<_>>(),
                "field_types": fields.map(|field| nested(&field.cql_type)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let heads = |kind: TableKind, name: &str| -> Vec<Value> {
        let tables = schema.tables.iter().map(|random| &random.table);
        tables
            .filter(|table| table.kind == kind)
            .map(|table| {
                json!({
                    "keyspace_name": "ks", name: table.name, "id": table.id.to_string(),
                    "cdc": table.cdc.then_some(true), "flags": ["compound"],
                })
            })
            .collect()
    };
    json!({
        "tables": heads(TableKind::Table, "table_name"),
        "views": heads(TableKind::View, "view_name"),
        "columns": schema.tables.iter().flat_map(columns).collect::<Vec<_>>(),
        "dropped_columns": schema.tables.iter().flat_map(dropped_columns).collect::<Vec<_>>(),
        "types": types,
    })
}

fn columns(random: &RandomTable) -> Vec<Value> {
    let table = &random.table;
    let row = |column: &Column, position: i64, order: &str| {
        json!({
            "keyspace_name": "ks", "table_name": table.name, "column_name": column.name,
            "type": type_text(column), "kind": kind(column), "position": position,
            "clustering_order": order,
        })
    };
    let place = |place: usize| i64::try_from(place).unwrap();
    let mut rows = Vec::new();
    for (position, column) in table.partition_key.iter().enumerate() {
        rows.push(row(column, place(position), "none"));
    }
    for (position, column) in table.clustering.iter().enumerate() {
        let order = if column.reversed { "desc" } else { "asc" };
        rows.push(row(column, place(position), order));
    }
    let live = |column: &&Column| column.dropped_at_us.is_none();
    rows.extend((table.columns.iter().filter(live)).map(|column| row(column, -1, "none")));
    // CQL gives the rows of a table by column name.
    rows.sort_by_key(|row| row["column_name"].to_string());
    rows
}

fn dropped_columns(random: &RandomTable) -> Vec<Value> {
    (random.table.columns.iter())
        .chain(&random.readded)
        .filter_map(|column| {
            Some(json!({
                "keyspace_name": "ks", "table_name": random.table.name,
                "column_name": column.name, "type": type_text(column), "kind": kind(column),
                "dropped_time": column.dropped_at_us? / 1000,
            }))
        })
        .collect()
}

fn type_text(column: &Column) -> String {
    if column.multi_cell {
        unfrozen(&column.cql_type)
    } else {
        nested(&column.cql_type)
    }
}

fn kind(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::PartitionKey => "partition_key",
        ColumnKind::Clustering => "clustering",
        ColumnKind::Static => "static",
        ColumnKind::Regular => "regular",
    }
}
