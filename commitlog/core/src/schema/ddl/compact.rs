//! The columns of COMPACT STORAGE tables that CQL does not show.

use crate::cql_type::CqlType;
use crate::schema::{Column, ColumnHistory, ColumnKind, Table};

/// Turns a declared COMPACT STORAGE table into the table that mutations use
/// (`CreateTableStatement#fixupCompactTable`).
///
/// In a table without clustering columns, all columns become static. It gets a clustering column
/// `column1` and a regular column `value`, which CQL never fills. A table with only key columns
/// gets a regular column `value`, which is always empty. If a name is taken, the next free number
/// is used. `clustering_name` is the name of the clustering column if the text contains it.
pub(super) fn add_hidden_columns(table: &mut Table, clustering_name: Option<&String>) {
    if table.clustering.is_empty() {
        let counter = (table.columns.iter()).any(|column| column.cql_type == CqlType::Counter);
        for column in &mut table.columns {
            column.kind = ColumnKind::Static;
        }
        let clustering = match clustering_name {
            Some(name) => name.clone(),
            None => free_name(table, |n| format!("column{}", n + 1)),
        };
        let value = value_name(table);
        let value_type = if counter {
            CqlType::Counter
        } else {
            CqlType::Blob
        };
        table
            .clustering
            .push(hidden(clustering, ColumnKind::Clustering, CqlType::Text));
        table
            .columns
            .push(hidden(value, ColumnKind::Regular, value_type));
    } else if table
        .columns
        .iter()
        .all(|column| column.dropped_at_us.is_some())
    {
        let value = value_name(table);
        table
            .columns
            .push(hidden(value, ColumnKind::Regular, CqlType::Empty));
    }
}

fn value_name(table: &Table) -> String {
    free_name(table, |n| match n {
        0 => "value".to_owned(),
        _ => format!("value{n}"),
    })
}

/// Returns the first name of the series that no live column has.
fn free_name(table: &Table, name: impl Fn(usize) -> String) -> String {
    let taken = |name: &String| {
        (table.partition_key.iter())
            .chain(&table.clustering)
            .chain(&table.columns)
            .any(|column| column.dropped_at_us.is_none() && column.name == *name)
    };
    let mut number = 0;
    loop {
        let candidate = name(number);
        if !taken(&candidate) {
            return candidate;
        }
        number += 1;
    }
}

fn hidden(name: String, kind: ColumnKind, cql_type: CqlType) -> Column {
    Column {
        name,
        kind,
        cql_type,
        multi_cell: false,
        reversed: false,
        dropped_at_us: None,
        history: ColumnHistory::default(),
    }
}
