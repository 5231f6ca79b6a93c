//! The columns of COMPACT STORAGE tables that CQL does not show.

use crate::cql_type::CqlType;
use crate::schema::{Column, ColumnKind, Table};

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
    } else if table.live_others().next().is_none() {
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
    let is_taken = |name: &String| table.live_columns().any(|column| column.name == *name);
    let mut names = (0..).map(name);
    // The series has no end.
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

fn hidden(name: String, kind: ColumnKind, cql_type: CqlType) -> Column {
    Column::new(name, kind, cql_type, false)
}
