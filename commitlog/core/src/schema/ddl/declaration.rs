//! Declarations of tables and views, and their resolution into schema tables.

use super::compact;
use super::options::Options;
use crate::cql_type::CqlType;
use crate::schema::column_history::{ColumnHistory, fold};
use crate::schema::type_expression::TypeExpression;
use crate::schema::type_name::UserTypes;
use crate::schema::{Column, ColumnKind, Observed, Result, SchemaError, Table, TableId, TableKind};

/// A table after its CREATE and ALTER statements, with unresolved column types.
pub(super) struct TableDeclaration {
    pub keyspace: String,
    pub name: String,
    pub line: usize,
    pub id: TableId,
    pub options: Options,
    pub columns: Vec<ColumnDeclaration>,
    pub keys: Keys,
}

/// The names in a PRIMARY KEY clause, in key order.
#[derive(Default)]
pub(super) struct Keys {
    pub partition: Vec<String>,
    pub clustering: Vec<String>,
}

pub(super) struct ColumnDeclaration {
    pub name: String,
    pub line: usize,
    pub expression: TypeExpression,
    pub is_static: bool,
    pub dropped_at_us: Option<i64>,
}

/// A materialized view.
pub(super) struct ViewDeclaration {
    pub keyspace: String,
    pub name: String,
    pub line: usize,
    pub id: TableId,
    pub options: Options,
    /// Keyspace and name of the base table.
    pub base: (String, String),
    /// Number of tables that the text declares before the view.
    pub tables_before: usize,
    /// `None` for `SELECT *`.
    pub selected: Option<Vec<String>>,
    pub keys: Keys,
}

impl TableDeclaration {
    /// Returns the index of the live column with this name.
    pub fn live_column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.dropped_at_us.is_none() && column.name == name)
    }

    pub fn resolve(&self, types: &UserTypes) -> Result<Table> {
        let key = |name: &String, kind| -> Result<Column> {
            let place = self.live_column(name);
            let Some(column) = place.and_then(|place| self.columns.get(place)) else {
                return Err(self.error(&format!("PRIMARY KEY names {name}, which is not a column")));
            };
            Ok(Column {
                multi_cell: false,
                reversed: self.options.is_descending(name),
                ..self.resolve_column(column, kind, types)?
            })
        };
        let keys = |names: &[String], kind| {
            let columns = names.iter().map(|name| key(name, kind));
            columns.collect::<Result<Vec<_>>>()
        };
        let partition_key = keys(&self.keys.partition, ColumnKind::PartitionKey)?;
        let clustering = if self.hides_clustering() {
            Vec::new()
        } else {
            keys(&self.keys.clustering, ColumnKind::Clustering)?
        };
        let mut table = Table {
            id: self.id,
            keyspace: self.keyspace.clone(),
            name: self.name.clone(),
            kind: TableKind::Table,
            cdc: self.options.cdc,
            counter: false,
            dense: false,
            partition_key,
            clustering,
            columns: self.resolve_columns(types)?,
            observed: Observed::default(),
        };
        if self.options.compact_storage {
            table.dense = !table.clustering.is_empty();
            // Cassandra mentions the hidden clustering column without declaring it: in CLUSTERING
            // ORDER BY (5.0) or in PRIMARY KEY (schema.cql of a 3.11 snapshot).
            let mut named = (self.options.ordered_columns()).chain(&self.keys.clustering);
            let undeclared = named.find(|name| self.live_column(name).is_none());
            compact::add_hidden_columns(&mut table, undeclared);
        }
        table.counter = (table.columns.iter()).any(|column| column.cql_type == CqlType::Counter);
        fold(&mut table.columns);
        table.sort_columns();
        Ok(table)
    }

    /// Whether this is a compact table without declared clustering columns.
    fn hides_clustering(&self) -> bool {
        let mut clustering = self.keys.clustering.iter();
        self.options.compact_storage && clustering.all(|name| self.live_column(name).is_none())
    }

    /// Resolves the columns outside the primary key, including dropped columns.
    fn resolve_columns(&self, types: &UserTypes) -> Result<Vec<Column>> {
        let is_key = |column: &ColumnDeclaration| {
            let keys = self.keys.partition.iter().chain(&self.keys.clustering);
            column.dropped_at_us.is_none() && keys.into_iter().any(|name| *name == column.name)
        };
        (self.columns.iter())
            .filter(|column| !is_key(column))
            .map(|column| {
                let kind = if column.is_static {
                    ColumnKind::Static
                } else {
                    ColumnKind::Regular
                };
                self.resolve_column(column, kind, types)
            })
            .collect()
    }

    fn resolve_column(
        &self,
        column: &ColumnDeclaration,
        kind: ColumnKind,
        types: &UserTypes,
    ) -> Result<Column> {
        let (cql_type, multi_cell) = types.resolve(&column.expression, &self.keyspace)?;
        Ok(Column {
            dropped_at_us: column.dropped_at_us,
            ..Column::new(column.name.clone(), kind, cql_type, multi_cell)
        })
    }

    fn error(&self, reason: &str) -> SchemaError {
        SchemaError::Syntax {
            line: self.line,
            reason: format!("table {}.{}: {reason}", self.keyspace, self.name),
        }
    }
}

impl ViewDeclaration {
    /// Resolves the view with its base table's types; `tables[i]` belongs to `declarations[i]`.
    pub fn resolve(&self, declarations: &[TableDeclaration], tables: &[Table]) -> Result<Table> {
        let is_base = |table: &TableDeclaration| {
            (&table.keyspace, &table.name) == (&self.base.0, &self.base.1)
        };
        let before = declarations.iter().take(self.tables_before);
        let place = (before.rev().position(is_base))
            .map(|later| self.tables_before - 1 - later)
            .or_else(|| declarations.iter().position(is_base));
        let Some(base) = place.and_then(|place| tables.get(place)) else {
            let (keyspace, name) = &self.base;
            return Err(self.error(&format!("its base table {keyspace}.{name} is not declared")));
        };
        let of_kind = |names: &[String], kind| {
            (names.iter())
                .map(|name| self.column(base, name, kind))
                .collect::<Result<Vec<_>, _>>()
        };
        let partition_key = of_kind(&self.keys.partition, ColumnKind::PartitionKey)?;
        let clustering = of_kind(&self.keys.clustering, ColumnKind::Clustering)?;
        let mut names: Vec<String> = match &self.selected {
            Some(names) => names.clone(),
            None => (base.live_columns())
                .filter(|column| column.kind != ColumnKind::Static)
                .map(|column| column.name.clone())
                .collect(),
        };
        names.retain(|name| {
            let mut keys = partition_key.iter().chain(&clustering);
            keys.all(|key| key.name != *name)
        });
        let columns = of_kind(&names, ColumnKind::Regular)?;
        let mut view = Table {
            id: self.id,
            keyspace: self.keyspace.clone(),
            name: self.name.clone(),
            kind: TableKind::View,
            cdc: self.options.cdc,
            counter: false,
            dense: false,
            partition_key,
            clustering,
            columns,
            observed: Observed::default(),
        };
        view.sort_columns();
        Ok(view)
    }

    fn column(&self, base: &Table, name: &str, kind: ColumnKind) -> Result<Column> {
        let Some(column) = base.live_columns().find(|column| column.name == name) else {
            return Err(self.error(&format!(
                "its base table {}.{} has no column {name}",
                base.keyspace, base.name
            )));
        };
        Ok(Column {
            kind,
            reversed: kind == ColumnKind::Clustering && self.options.is_descending(name),
            history: ColumnHistory::default(),
            ..column.clone()
        })
    }

    fn error(&self, reason: &str) -> SchemaError {
        SchemaError::Syntax {
            line: self.line,
            reason: format!(
                "materialized view {}.{}: {reason}",
                self.keyspace, self.name
            ),
        }
    }
}
