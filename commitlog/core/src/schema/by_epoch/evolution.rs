//! Derives a table definition from the previous definition and the rows of one change.

use crate::cql_type::CqlType;
use crate::schema::change::SchemaChange;
use crate::schema::type_name::UserTypes;
use crate::schema::{Column, ColumnHistory, ColumnKind, Observed, Table};
use std::sync::Arc;

/// Reduces a table to one definition, without observations and with one column for each name.
pub(super) fn definition(table: &Table) -> Table {
    let mut table = table.clone();
    let columns = std::mem::take(&mut table.columns);
    for column in &columns {
        let is_shadowed = columns.iter().any(|other| {
            let is_later =
                other.dropped_at_us.is_none() || other.dropped_at_us > column.dropped_at_us;
            other.is_namesake(column) && column.dropped_at_us.is_some() && is_later
        });
        if !is_shadowed {
            table.columns.push(column.clone());
        }
    }
    for column in table.all_columns_mut() {
        column.history = ColumnHistory::default();
    }
    table.observed = Observed::default();
    table.sort_columns();
    table
}

/// Adds all other columns of the table's history to a definition: an update may contain a column
/// that its node did not know yet or no longer knew. Uses the current `cdc` option.
pub(super) fn with_other_columns(definition: &Table, known: &Table) -> Table {
    let mut table = definition.clone();
    // The earliest of several versions of a column counts.
    let first_us = |name: &str| {
        let namesakes = known.all_columns().filter(|other| other.name == name);
        namesakes.map(|other| other.history.first_us).min()
    };
    for column in table.all_columns_mut() {
        column.history.first_us = first_us(&column.name).unwrap_or(i64::MAX);
    }
    for column in &known.columns {
        if !definition.columns.iter().any(|own| own.is_namesake(column)) {
            table.columns.push(Column {
                dropped_at_us: column.dropped_at_us.or(Some(i64::MIN)),
                ..column.clone()
            });
        }
    }
    table.cdc = known.cdc;
    table.sort_columns();
    table
}

/// Applies the rows of a change to a definition; `None` if a row is invalid.
pub(super) fn evolve(
    before: &Table,
    change: &SchemaChange,
    name: &str,
    types: &UserTypes,
) -> Option<Table> {
    let mut table = before.clone();
    if let Some((_, row)) = change.row_of(name) {
        table.cdc = row.cdc.unwrap_or(false);
        table.counter = row.is_counter();
        table.dense = row.is_dense();
    }
    for (_, (_, deleted)) in (change.deleted_columns.iter()).filter(|row| row.1.0 == name) {
        let is_deleted = |c: &Column| c.dropped_at_us.is_none() && c.name == *deleted;
        table.columns.retain(|column| !is_deleted(column));
    }
    for (_, row) in change.dropped_of(name) {
        let dropped = row.column(types).ok()?;
        table.columns.retain(|column| !column.is_namesake(&dropped));
        table.columns.push(dropped);
    }
    for (_, row) in change.columns_of(name) {
        let column = row.column(types).ok()?;
        let key = match row.kind {
            ColumnKind::PartitionKey => &mut table.partition_key,
            ColumnKind::Clustering => &mut table.clustering,
            ColumnKind::Regular | ColumnKind::Static => {
                table.columns.retain(|other| !other.is_namesake(&column));
                table.columns.push(column);
                continue;
            }
        };
        let known = key.get_mut(usize::try_from(row.position).ok()?)?;
        known.name = column.name;
        known.cql_type = column.cql_type;
    }
    table.sort_columns();
    Some(table)
}

/// Replaces the user types of a definition with `types`; `None` if nothing changes.
pub(super) fn retype(before: &Table, types: &UserTypes) -> Option<Table> {
    let mut table = before.clone();
    for column in table.all_columns_mut() {
        column.cql_type = present(&column.cql_type, types);
    }
    (table != *before).then_some(table)
}

fn present(cql_type: &CqlType, types: &UserTypes) -> CqlType {
    if let CqlType::Udt(known) = cql_type
        && let Some(now) = types.get(&known.keyspace, &known.name)
    {
        return CqlType::Udt(Arc::clone(now));
    }
    cql_type.map_parts(|part| present(part, types))
}
