//! Schema changes of tables: the definitions before and after each change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cql_text::{alter_table, create_table, drop_table};
use super::{Column, ColumnKind, Table};
use crate::cql_type::CqlType;

/// The kind of a schema change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Create,
    Alter,
    Drop,
}

/// One table before and after a schema change.
#[derive(Debug, Clone)]
pub struct TableChange {
    pub kind: ChangeKind,
    /// The table after the change, or before a drop.
    pub table: Arc<Table>,
    /// The table before an [`ChangeKind::Alter`].
    pub before: Option<Arc<Table>>,
    /// Write time of the change, in microseconds; `i64::MIN` if unknown.
    pub time_us: i64,
    /// The statement in the metadata log, since Cassandra 6.0.
    pub statement: Option<Statement>,
}

/// A schema change in the metadata log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    pub epoch: i64,
    /// The client's text; `None` if the entry cannot be read.
    pub cql: Option<String>,
}

impl TableChange {
    pub(super) fn new(
        kind: ChangeKind,
        table: &Arc<Table>,
        before: Option<&Arc<Table>>,
        time_us: i64,
    ) -> Self {
        Self {
            kind,
            table: Arc::clone(table),
            before: before.map(Arc::clone),
            time_us,
            statement: None,
        }
    }

    /// Describes the creation of a table.
    pub fn create(table: &Arc<Table>) -> Self {
        Self::new(ChangeKind::Create, table, None, table.observed.changed_us)
    }

    /// Returns the change from `before` to `after`, or `None` if their definitions are equal.
    pub fn compare(before: Option<&Arc<Table>>, after: &Arc<Table>, time_us: i64) -> Option<Self> {
        let kind = match before {
            Some(before) if before.is_defined_as(after) => return None,
            Some(_) => ChangeKind::Alter,
            None => ChangeKind::Create,
        };
        Some(Self::new(kind, after, before, time_us))
    }

    /// Returns the client's statement if the metadata log contains it. Otherwise, it derives
    /// statements from the definitions, without options except for `cdc` and the clustering order.
    pub fn cql(&self) -> String {
        let statement = self.statement.as_ref();
        let sent = statement.and_then(|statement| statement.cql.clone());
        sent.unwrap_or_else(|| self.statements().join(";\n"))
    }

    fn statements(&self) -> Vec<String> {
        match (self.kind, &self.before) {
            (ChangeKind::Alter, Some(before)) => alter_table(before, &self.table),
            (ChangeKind::Drop, _) => vec![drop_table(&self.table)],
            _ => vec![create_table(&self.table)],
        }
    }
}

impl Table {
    /// Returns the key columns, in key order.
    pub fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.partition_key.iter().chain(&self.clustering)
    }

    /// Returns the key columns and all others, including dropped columns.
    pub(super) fn all_columns(&self) -> impl Iterator<Item = &Column> {
        self.key_columns().chain(&self.columns)
    }

    pub(super) fn all_columns_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        let keys = self.partition_key.iter_mut().chain(&mut self.clustering);
        keys.chain(&mut self.columns)
    }

    /// Returns the current columns except for key columns.
    pub fn live_others(&self) -> impl Iterator<Item = &Column> {
        let columns = self.columns.iter();
        columns.filter(|column| column.dropped_at_us.is_none())
    }

    /// Returns the current columns: the key first, then regular and static columns by name.
    pub fn live_columns(&self) -> impl Iterator<Item = &Column> {
        self.key_columns().chain(self.live_others())
    }

    /// Whether both currently have the same name, columns, key and `cdc` option.
    pub fn is_defined_as(&self, other: &Self) -> bool {
        fn shape(column: &Column) -> (&str, ColumnKind, &CqlType, bool, bool) {
            let Column {
                name,
                kind,
                cql_type,
                ..
            } = column;
            (name, *kind, cql_type, column.multi_cell, column.reversed)
        }
        self.cdc == other.cdc
            && self.name == other.name
            && (self.live_columns().map(shape)).eq(other.live_columns().map(shape))
    }
}

/// Whether Cassandra itself uses a keyspace.
pub(crate) fn is_system(keyspace: &str) -> bool {
    keyspace == "system" || keyspace.starts_with("system_")
}
