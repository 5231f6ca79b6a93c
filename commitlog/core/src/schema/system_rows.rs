//! Reads a schema from the rows of `system_schema`.

pub(crate) mod rows;

use rustc_hash::FxHashMap;

use super::column_history::fold;
use super::type_name::{UserTypeDeclaration, UserTypes};
use super::type_versions::TypeVersions;
use super::{
    Column, ColumnKind, MetadataLogEntry, Observed, Result, Schema, SchemaError, Table, TableId,
    TableKind,
};
use rows::{ColumnRow, DroppedColumnRow, MetadataLogRow, Rows, TableRow, TypeRow};

/// Reads the rows of `system_schema.*`, as queried over CQL, from one JSON object:
///
/// ```json
/// {
///   "tables": [{"keyspace_name": "ks", "table_name": "t", "cdc": true, "flags": ["compound"],
///               "id": "5a1c395e-b41f-11e5-9f22-ba0be0483c18"}],
///   "views": [{"keyspace_name": "ks", "view_name": "v", "base_table_name": "t",
///              "id": "5a1c395e-b41f-11e5-9f22-ba0be0483c19"}],
///   "columns": [{"keyspace_name": "ks", "table_name": "t", "column_name": "k", "type": "int",
///                "kind": "partition_key", "position": 0, "clustering_order": "none"}],
///   "dropped_columns": [{"keyspace_name": "ks", "table_name": "t", "column_name": "d",
///                        "type": "text", "kind": "regular", "dropped_time": 1700000000000}],
///   "types": [{"keyspace_name": "ks", "type_name": "u", "field_names": ["a"],
///              "field_types": ["frozen<list<int>>"]}],
///   "epoch": 12,
///   "metadata_log": [{"epoch": 12, "kind": 4, "transformation": "0900000000"}]
/// }
/// ```
///
/// Other columns are ignored, and a list without rows may be absent. `kind` is `partition_key`,
/// `clustering`, `static` or `regular`; `clustering_order` is `asc`, `desc` or `none`;
/// `dropped_time` is in milliseconds since 1970. Rows of `tables` and `views` may have a
/// `changed_us`, rows of `columns` a `created_us`: their write times in microseconds. `flags` and
/// `cdc` may be null or absent. So may the `kind` of a dropped column (3.0), which is then regular.
/// The columns of a view are rows of `columns` with the view's name as `table_name`. Rows of
/// `columns` and `dropped_columns` without a table are ignored, because the lists are not read at
/// the same instant.
///
/// `epoch` (6.0) is the epoch of the latest schema change in the rows. `metadata_log` contains the
/// latest entries without a gap: they show at which epoch a table last changed.
///
/// COMPACT STORAGE tables appear as stored, with their hidden columns.
///
/// # Errors
/// [`SchemaError::Syntax`] for any other text. [`SchemaError::Table`] for inconsistent rows of a
/// table or user type, such as a table without a partition key: if a table was dropped meanwhile,
/// read again.
pub fn parse_system_rows(json: &[u8]) -> Result<Schema> {
    // Otherwise, serde would also accept a JSON array, with the lists in field order.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(SchemaError::Syntax {
            line: 1,
            reason: "expected a JSON object with the rows of system_schema".to_owned(),
        });
    }
    let rows: Rows = serde_json::from_slice(json).map_err(|error| SchemaError::Syntax {
        line: error.line(),
        reason: error.to_string(),
    })?;
    let declarations = rows.types.into_iter().map(declaration);
    let declarations = declarations.collect::<Result<Vec<_>>>()?;
    let versions = TypeVersions::from_declarations(&declarations, 0);
    let types = UserTypes::resolve_all(declarations).map_err(|failure| {
        SchemaError::in_table(&failure.keyspace, &failure.name, failure.error.reason())
    })?;
    let mut columns = by_table(rows.columns, |row| (&row.keyspace_name, &row.table_name));
    let mut dropped = by_table(rows.dropped_columns, |row| {
        (&row.keyspace_name, &row.table_name)
    });
    let views = rows.views.into_iter().map(|row| TableRow {
        kind: TableKind::View,
        ..row
    });
    let mut read = Vec::new();
    for row in rows.tables.into_iter().chain(views) {
        let key = (row.keyspace_name.clone(), row.name.clone());
        let columns = columns.remove(&key).unwrap_or_default();
        let dropped = dropped.remove(&key).unwrap_or_default();
        read.push(table(&row, columns, dropped, &types)?);
    }
    let schema = Schema::new(read).with_types(versions).seen_at(0);
    Ok(match rows.epoch {
        Some(epoch) => {
            let entries: Vec<_> = rows
                .metadata_log
                .iter()
                .map(MetadataLogRow::entry)
                .collect();
            schema.seen_at_epoch(epoch, |table| changed_at(table, epoch, &entries))
        }
        None => schema,
    })
}

/// Returns the latest epoch up to `epoch` at which a table may have changed.
fn changed_at(table: &Table, epoch: i64, entries: &[MetadataLogEntry]) -> i64 {
    let before = || entries.iter().filter(|entry| entry.epoch <= epoch);
    let changes = before().filter(|entry| entry.may_change(table));
    let last = changes.map(|entry| entry.epoch).max();
    // Without a change since the first entry, the table was the same before it.
    let first = before().map(|entry| entry.epoch - 1).min();
    last.or(first).unwrap_or(epoch)
}

type ByTable<T> = FxHashMap<(String, String), Vec<T>>;

fn by_table<T>(rows: Vec<T>, key: impl Fn(&T) -> (&String, &String)) -> ByTable<T> {
    let mut tables = ByTable::default();
    for row in rows {
        let (keyspace, table) = key(&row);
        let key = (keyspace.clone(), table.clone());
        tables.entry(key).or_default().push(row);
    }
    tables
}

fn declaration(row: TypeRow) -> Result<UserTypeDeclaration> {
    let in_type = |reason| SchemaError::in_table(&row.keyspace_name, &row.type_name, reason);
    Ok(UserTypeDeclaration {
        fields: row.fields().map_err(in_type)?,
        keyspace: row.keyspace_name,
        name: row.type_name,
    })
}

/// Creates a table from its rows, which must be complete.
pub(super) fn table(
    row: &TableRow,
    columns: Vec<ColumnRow>,
    dropped: Vec<DroppedColumnRow>,
    types: &UserTypes,
) -> Result<Table> {
    let error = |reason| SchemaError::in_table(&row.keyspace_name, &row.name, reason);
    let mut partition_key = Vec::new();
    let mut clustering = Vec::new();
    let mut others = Vec::new();
    for row in columns {
        let column = row.column(types)?;
        match row.kind {
            ColumnKind::PartitionKey => partition_key.push((row.position, column)),
            ColumnKind::Clustering => clustering.push((row.position, column)),
            ColumnKind::Static | ColumnKind::Regular => others.push(column),
        }
    }
    for row in dropped {
        others.push(row.column(types)?);
    }
    fold(&mut others);
    let mut table = Table {
        id: TableId::parse(&row.id).ok_or_else(|| error("its id is not a UUID"))?,
        keyspace: row.keyspace_name.clone(),
        name: row.name.clone(),
        kind: row.kind,
        cdc: row.cdc.unwrap_or(false),
        counter: row.is_counter(),
        dense: row.is_dense(),
        partition_key: in_position(partition_key)
            .ok_or_else(|| error("a partition key column is missing"))?,
        clustering: in_position(clustering)
            .ok_or_else(|| error("a clustering column is missing"))?,
        columns: others,
        observed: Observed {
            changed_us: row.changed_us.unwrap_or(i64::MIN),
            ..Observed::default()
        },
    };
    if table.partition_key.is_empty() {
        return Err(error("it has no partition key"));
    }
    table.sort_columns();
    Ok(table)
}

/// Sorts key columns by position. Positions must start at 0 and have no gaps.
fn in_position(mut columns: Vec<(i32, Column)>) -> Option<Vec<Column>> {
    columns.sort_by_key(|(position, _)| *position);
    let mut expected = 0..;
    columns
        .into_iter()
        .map(|(position, column)| (expected.next() == Some(position)).then_some(column))
        .collect()
}
