//! Schema changes in the log, and their effect on a schema.
//!
//! Before the first write that needs a schema change, a node writes one mutation of `system_schema`
//! for each keyspace (`SchemaKeyspace`). CREATE TABLE writes all rows of the table, ALTER TABLE its
//! row of `tables` and the changed rows of `columns` and `dropped_columns`, and DROP deletions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::epochs::MetadataLogEntry;
use super::system_rows::rows::{ColumnRow, DroppedColumnRow, TableRow, TypeRow};
use super::system_rows::table;
use super::type_name::UserTypes;
use super::type_versions::TypeVersion;
use super::{Column, Observed, Schema, Table, TableId};

/// A row and its write time in microseconds.
pub(crate) type Written<T> = (i64, T);

/// A change of one keyspace in one mutation of `system_schema`, or an entry of the metadata log.
#[derive(Debug, Clone, Default)]
pub struct SchemaChange {
    pub(crate) keyspace: String,
    /// The entry, without rows. Since 6.0, it precedes the rows of its change.
    pub(crate) entry: Option<MetadataLogEntry>,
    /// Whether the log has epochs: an entry precedes the rows, except when a node starts.
    pub(crate) has_epochs: bool,
    /// Whether the bytes were unreadable, so that a schema change is missing.
    pub(crate) is_unreadable: bool,
    /// Rows of `tables` and `views`.
    pub(crate) tables: Vec<Written<TableRow>>,
    pub(crate) columns: Vec<Written<ColumnRow>>,
    /// Deletions of rows of `columns`: table and column.
    pub(crate) deleted_columns: Vec<Written<(String, String)>>,
    pub(crate) dropped_columns: Vec<Written<DroppedColumnRow>>,
    pub(crate) types: Vec<Written<TypeRow>>,
    /// Names of deleted rows of `tables` and `views`.
    pub(crate) deleted_tables: Vec<Written<String>>,
    /// Time at which the whole keyspace was deleted.
    pub(crate) deleted_us: Option<i64>,
}

impl SchemaChange {
    /// Wraps an entry; the keyspace is empty if the entry has none.
    pub(crate) fn of_entry(entry: MetadataLogEntry) -> Self {
        let keyspace = entry.statement().and_then(|s| s.keyspace.clone());
        Self {
            keyspace: keyspace.unwrap_or_default(),
            entry: Some(entry),
            ..Self::default()
        }
    }

    /// Represents a change that cannot be read.
    pub(crate) fn unreadable(has_epochs: bool) -> Self {
        Self {
            has_epochs,
            is_unreadable: true,
            ..Self::default()
        }
    }

    pub fn keyspace(&self) -> &str {
        &self.keyspace
    }

    /// Returns the entry of the metadata log if this change is an entry.
    pub fn entry(&self) -> Option<&MetadataLogEntry> {
        self.entry.as_ref()
    }

    /// Whether the change contains nothing that a reader needs; readers do not need deletions.
    pub fn is_empty(&self) -> bool {
        self.entry.is_none()
            && self.tables.is_empty()
            && self.columns.is_empty()
            && self.dropped_columns.is_empty()
            && self.types.is_empty()
    }

    /// Whether the change drops tables or a whole keyspace.
    pub fn has_drops(&self) -> bool {
        self.deleted_us.is_some() || !self.deleted_tables.is_empty()
    }

    /// Returns when the change dropped a table or view with this name, in microseconds.
    pub(super) fn dropped_us(&self, name: &str) -> Option<i64> {
        let tables = self.deleted_tables.iter();
        let table_us = tables.filter(|(_, deleted)| deleted == name);
        table_us
            .map(|(time_us, _)| *time_us)
            .chain(self.deleted_us)
            .max()
    }

    /// Returns the write times of the rows that define tables and views, with their names.
    fn times(&self) -> impl Iterator<Item = (i64, &str)> {
        let tables = self.tables.iter();
        let tables = tables.map(|(time_us, row)| (*time_us, row.name.as_str()));
        let columns = self.columns.iter();
        let columns = columns.map(|(time_us, row)| (*time_us, row.table_name.as_str()));
        let dropped = self.dropped_columns.iter();
        let dropped = dropped.map(|(time_us, row)| (*time_us, row.table_name.as_str()));
        tables.chain(columns).chain(dropped)
    }

    /// Returns the latest write time of the rows of a table, in microseconds.
    pub(super) fn time_of(&self, table: &str) -> Option<i64> {
        let times = self.times().filter(|(_, name)| *name == table);
        times.map(|(time_us, _)| time_us).max()
    }

    /// Returns the write time, in microseconds, of a table or view, otherwise of the user types.
    pub(super) fn time_us(&self, name: &str) -> i64 {
        let rows = self.tables.iter().filter(|(_, row)| row.name == name);
        let row_us = rows.map(|(time_us, _)| *time_us).max();
        let types = self.types.iter().map(|(time_us, _)| *time_us);
        (row_us.or_else(|| self.time_of(name)))
            .or_else(|| types.max())
            .unwrap_or(i64::MIN)
    }

    /// Returns the names of the tables and views that the change affects.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.times().map(|(_, name)| name).collect()
    }

    /// Returns the latest row of `tables` or `views` with this name.
    pub(super) fn row_of(&self, name: &str) -> Option<&Written<TableRow>> {
        self.tables.iter().rev().find(|(_, row)| row.name == name)
    }

    pub(super) fn columns_of(&self, table: &str) -> impl Iterator<Item = &Written<ColumnRow>> {
        let rows = self.columns.iter();
        rows.filter(move |(_, row)| row.table_name == table)
    }

    pub(super) fn dropped_of(
        &self,
        table: &str,
    ) -> impl Iterator<Item = &Written<DroppedColumnRow>> {
        let rows = self.dropped_columns.iter();
        rows.filter(move |(_, row)| row.table_name == table)
    }

    /// Shifts the write times of the rows of a table.
    pub(super) fn shift(&mut self, table: &str, shift_us: i64) {
        let tables = self.tables.iter_mut();
        let tables = tables.map(|(time_us, row)| (time_us, &row.name));
        let columns = self.columns.iter_mut();
        let columns = columns.map(|(time_us, row)| (time_us, &row.table_name));
        let dropped = self.dropped_columns.iter_mut();
        let dropped = dropped.map(|(time_us, row)| (time_us, &row.table_name));
        let deleted = self.deleted_columns.iter_mut();
        let deleted = deleted.map(|(time_us, (name, _))| (time_us, &*name));
        let times = tables.chain(columns).chain(dropped).chain(deleted);
        for (time_us, _) in times.filter(|(_, name)| *name == table) {
            *time_us = time_us.saturating_add(shift_us);
        }
    }

    /// Returns the complete table of a row of `tables`, if the change contains all columns. ALTER
    /// TABLE … RENAME may write all key columns, too, but it also deletes the old names.
    pub(super) fn whole_table(&self, row: &Written<TableRow>, types: &UserTypes) -> Option<Table> {
        let (time_us, row) = row;
        let mut deleted = self.deleted_columns.iter();
        if deleted.any(|(deleted_us, (table, _))| deleted_us >= time_us && *table == row.name) {
            return None;
        }
        let columns = self.columns_of(&row.name).map(|(_, row)| row.clone());
        let dropped = self.dropped_of(&row.name).map(|(_, row)| row.clone());
        let table = table(row, columns.collect(), dropped.collect(), types);
        let mut table = table.ok()?.bounded();
        table.observe(*time_us, 0);
        table.observed.changed_us = *time_us;
        Some(table)
    }
}

impl Schema {
    pub(super) fn apply(&mut self, change: &SchemaChange) {
        for (time_us, row) in &change.types {
            if let Ok(fields) = row.fields() {
                let version = TypeVersion {
                    first_us: *time_us,
                    last_us: *time_us,
                    fields,
                };
                self.types.add(&change.keyspace, &row.type_name, version);
            }
        }
        for name in change.names() {
            self.apply_to_table(change, name);
        }
        self.grow(Some(&change.keyspace));
    }

    fn apply_to_table(&mut self, change: &SchemaChange, name: &str) {
        let row = change.row_of(name);
        let time_us = row.map_or(i64::MAX, |(time_us, _)| *time_us);
        let types = self.types.types_at(&change.keyspace, time_us);
        if let Some(table) = row.and_then(|row| change.whole_table(row, &types)) {
            self.insert(&Arc::new(table));
            return;
        }
        let id = match row {
            Some((_, row)) => TableId::parse(&row.id),
            None => self.only_table_of_name(&change.keyspace, name),
        };
        let Some(id) = id else {
            return;
        };
        let mut fragment = fragment(id, &change.keyspace, name, row);
        for (time_us, row) in change.columns_of(name) {
            let Ok(mut column) = row.column(&types) else {
                continue;
            };
            if row.kind.is_key() {
                self.rename_key(id, row, &column, *time_us);
            } else {
                column.history.note_seen(*time_us);
                fragment.columns.push(column);
            }
        }
        for (time_us, row) in change.dropped_of(name) {
            if let Ok(mut column) = row.column(&types) {
                let drop_us = column.dropped_at_us.unwrap_or(i64::MIN);
                column.history.note_drop(drop_us);
                column.history.gone_us = *time_us;
                fragment.columns.push(column);
            }
        }
        // Merges several rows of a column into one entry.
        let fragment = Table {
            columns: Vec::new(),
            ..fragment.clone()
        }
        .join(&fragment);
        self.insert(&Arc::new(fragment.bounded()));
    }

    fn rename_key(&mut self, id: TableId, row: &ColumnRow, column: &Column, time_us: i64) {
        if let (Some(table), Ok(position)) = (self.tables.get_mut(&id), row.position.try_into()) {
            Arc::make_mut(table).rename_key(position, column, time_us);
        }
    }

    pub(super) fn only_table_of_name(&self, keyspace: &str, name: &str) -> Option<TableId> {
        let mut tables = self.tables.values();
        let mut named = tables
            .by_ref()
            .filter(|t| t.keyspace == keyspace && t.name == name);
        let first = named.next()?.id;
        named.next().is_none().then_some(first)
    }
}

/// Returns a table without columns from its row of `tables`, which may be unknown.
fn fragment(id: TableId, keyspace: &str, name: &str, row: Option<&Written<TableRow>>) -> Table {
    Table {
        id,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        kind: row.map(|(_, row)| row.kind).unwrap_or_default(),
        cdc: row.is_some_and(|(_, row)| row.cdc.unwrap_or(false)),
        counter: row.is_some_and(|(_, row)| row.is_counter()),
        dense: row.is_some_and(|(_, row)| row.is_dense()),
        partition_key: Vec::new(),
        clustering: Vec::new(),
        columns: Vec::new(),
        observed: Observed {
            as_of_us: row.map_or(i64::MIN, |(time_us, _)| *time_us),
            whole_us: i64::MIN,
            changed_us: row.map_or(i64::MIN, |(time_us, _)| *time_us),
        },
    }
}
