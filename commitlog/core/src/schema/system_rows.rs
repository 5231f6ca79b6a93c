//! Reads a schema from the rows of `system_schema`.

pub(crate) mod rows;

use rustc_hash::FxHashMap;

use super::column_history::{ColumnHistory, fold};
use super::type_name::{UserTypeDeclaration, UserTypes, expression};
use super::type_versions::TypeVersions;
use super::{
    Column, MetadataLogEntry, Observed, Result, Schema, SchemaError, Table, TableId, TableKind,
};
use rows::{ColumnRow, DroppedColumnRow, Kind, MetadataLogRow, Rows, TableRow, TypeRow};

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
    let declarations = declarations(rows.types)?;
    let versions = TypeVersions::from_declarations(&declarations, 0);
    let types = UserTypes::resolve_all(declarations).map_err(|failure| {
        table_error(&failure.keyspace, &failure.name, what_of(&failure.error))
    })?;
    let mut columns = by_table(rows.columns, |row| (&row.keyspace_name, &row.table_name));
    let mut dropped = by_table(rows.dropped_columns, |row| {
        (&row.keyspace_name, &row.table_name)
    });
    let tables = rows.tables.into_iter().map(|row| TableRow {
        is_view: false,
        ..row
    });
    let views = rows.views.into_iter().map(|row| TableRow {
        is_view: true,
        ..row
    });
    let mut read = Vec::new();
    for row in tables.chain(views) {
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

fn declarations(rows: Vec<TypeRow>) -> Result<Vec<UserTypeDeclaration>> {
    let mut declarations = Vec::with_capacity(rows.len());
    for row in rows {
        let error = |reason: String| table_error(&row.keyspace_name, &row.type_name, &reason);
        if row.field_names.len() != row.field_types.len() {
            return Err(error(format!(
                "the type has {} field names and {} field types",
                row.field_names.len(),
                row.field_types.len()
            )));
        }
        let mut fields = Vec::with_capacity(row.field_names.len());
        for (name, type_name) in row.field_names.iter().zip(&row.field_types) {
            let expression = expression(type_name).map_err(|reason| {
                error(format!(
                    "field {name}: type {type_name}: {}",
                    what_of(&reason)
                ))
            })?;
            fields.push((name.clone(), expression));
        }
        declarations.push(UserTypeDeclaration {
            keyspace: row.keyspace_name,
            name: row.type_name,
            fields,
        });
    }
    Ok(declarations)
}

/// Creates a column from its row of `columns` or `dropped_columns`.
pub(super) fn column(
    name: String,
    type_name: &str,
    kind: Kind,
    types: &UserTypes,
    keyspace: &str,
) -> Result<Column> {
    let (cql_type, multi_cell) = types.resolve(&expression(type_name)?, keyspace)?;
    let is_key = matches!(kind, Kind::PartitionKey | Kind::Clustering);
    Ok(Column {
        name,
        kind: kind.into(),
        cql_type,
        multi_cell: multi_cell && !is_key,
        reversed: false,
        dropped_at_us: None,
        history: ColumnHistory::default(),
    })
}

/// Returns the drop time in microseconds, or `None` if it is out of range.
pub(super) fn drop_time_us(row: &DroppedColumnRow) -> Option<i64> {
    row.dropped_time.checked_mul(1000)
}

/// Whether the flags of a table mark it as a counter table.
pub(super) fn is_counter(row: &TableRow) -> bool {
    has_flag(row, "counter")
}

/// Whether the flags of a table mark it as dense ([`Table::dense`]). Tables with super columns,
/// which only Thrift creates, store rows in maps.
pub(super) fn is_dense(row: &TableRow) -> bool {
    has_flag(row, "dense") && !has_flag(row, "super")
}

fn has_flag(row: &TableRow, name: &str) -> bool {
    let is_named = |flag: &String| flag.eq_ignore_ascii_case(name);
    (row.flags.as_ref()).is_some_and(|flags| flags.iter().any(is_named))
}

/// Creates a table from its rows, which must be complete.
pub(super) fn table(
    row: &TableRow,
    columns: Vec<ColumnRow>,
    dropped: Vec<DroppedColumnRow>,
    types: &UserTypes,
) -> Result<Table> {
    let error = |reason: &str| table_error(&row.keyspace_name, &row.name, reason);
    let column = |name: String, type_name: &str, kind: Kind| -> Result<Column> {
        column(name.clone(), type_name, kind, types, &row.keyspace_name).map_err(|reason| {
            error(&format!(
                "column {name}: type {type_name}: {}",
                what_of(&reason)
            ))
        })
    };
    let mut partition_key = Vec::new();
    let mut clustering = Vec::new();
    let mut others = Vec::new();
    for row in columns {
        let reversed = row
            .clustering_order
            .is_some_and(|order| order.eq_ignore_ascii_case("desc"));
        let mut column = Column {
            reversed,
            ..column(row.column_name, &row.type_name, row.kind)?
        };
        column.history.first_us = row.created_us.unwrap_or(i64::MAX);
        match row.kind {
            Kind::PartitionKey => partition_key.push((row.position, column)),
            Kind::Clustering => clustering.push((row.position, column)),
            Kind::Static | Kind::Regular => others.push(column),
        }
    }
    for row in dropped {
        let kind = row.kind.unwrap_or(Kind::Regular);
        let dropped_at_us = drop_time_us(&row).ok_or_else(|| {
            error(&format!(
                "column {}: dropped_time is out of range",
                row.column_name
            ))
        })?;
        others.push(Column {
            dropped_at_us: Some(dropped_at_us),
            ..column(row.column_name, &row.type_name, kind)?
        });
    }
    fold(&mut others);
    let mut table = Table {
        id: TableId::parse(&row.id).ok_or_else(|| error("its id is not a UUID"))?,
        keyspace: row.keyspace_name.clone(),
        name: row.name.clone(),
        kind: if row.is_view {
            TableKind::View
        } else {
            TableKind::Table
        },
        cdc: row.cdc.unwrap_or(false),
        counter: is_counter(row),
        dense: is_dense(row),
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

fn table_error(keyspace: &str, table: &str, reason: &str) -> SchemaError {
    SchemaError::Table {
        keyspace: keyspace.to_owned(),
        table: table.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Returns the reason without the line, because rows have no lines.
fn what_of(error: &SchemaError) -> &str {
    match error {
        SchemaError::Syntax { reason, .. } | SchemaError::Table { reason, .. } => reason,
    }
}
