//! Declarations of tables and views, and their resolution into schema tables.

use super::compact;
use super::options::Options;
use crate::cql_type::CqlType;
use crate::schema::column_history::{ColumnHistory, fold};
use crate::schema::type_expression::TypeExpression;
use crate::schema::type_name::UserTypes;
use crate::schema::{Column, ColumnKind, Observed, Result, SchemaError, Table, TableId, TableKind};

/// The clauses that tables and views have in common.
pub(super) struct Declared {
    pub kind: TableKind,
    pub keyspace: String,
    pub name: String,
    pub line: usize,
    pub options: Options,
    pub keys: Keys,
}

/// A table after its CREATE and ALTER statements, with unresolved column types.
pub(super) struct TableDeclaration {
    pub declared: Declared,
    pub columns: Vec<ColumnDeclaration>,
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
    pub declared: Declared,
    /// Keyspace and name of the base table.
    pub base: (String, String),
    /// Number of tables that the text declares before the view.
    pub tables_before: usize,
    /// `None` for `SELECT *`.
    pub selected: Option<Vec<String>>,
}

impl Declared {
    /// Returns the id in the WITH clause, which is required.
    pub fn id(&self) -> Result<TableId> {
        self.options.id.ok_or_else(|| {
            self.error("expected WITH ID = …; describe the schema WITH INTERNALS to get the ids")
        })
    }

    pub fn error(&self, reason: &str) -> SchemaError {
        self.error_at(self.line, reason)
    }

    pub fn error_at(&self, line: usize, reason: &str) -> SchemaError {
        let kind = match self.kind {
            TableKind::Table => "table",
            TableKind::View => "materialized view",
        };
        SchemaError::Syntax {
            line,
            reason: format!("{kind} {}.{}: {reason}", self.keyspace, self.name),
        }
    }

    fn table(
        &self,
        partition_key: Vec<Column>,
        clustering: Vec<Column>,
        columns: Vec<Column>,
    ) -> Result<Table> {
        Ok(Table {
            id: self.id()?,
            keyspace: self.keyspace.clone(),
            name: self.name.clone(),
            kind: self.kind,
            cdc: self.options.cdc,
            counter: false,
            dense: false,
            partition_key,
            clustering,
            columns,
            observed: Observed::default(),
        })
    }
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
                return Err(self
                    .declared
                    .error(&format!("PRIMARY KEY names {name}, which is not a column")));
            };
            Ok(Column {
                multi_cell: false,
                reversed: self.declared.options.is_descending(name),
                ..self.resolve_column(column, kind, types)?
            })
        };
        let keys = |names: &[String], kind| {
            let columns = names.iter().map(|name| key(name, kind));
            columns.collect::<Result<Vec<_>>>()
        };
        let partition_key = keys(&self.declared.keys.partition, ColumnKind::PartitionKey)?;
        let clustering = if self.hides_clustering() {
            Vec::new()
        } else {
            keys(&self.declared.keys.clustering, ColumnKind::Clustering)?
        };
        let columns = self.resolve_columns(types)?;
        let mut table = self.declared.table(partition_key, clustering, columns)?;
        if self.declared.options.compact_storage {
            table.dense = !table.clustering.is_empty();
            // Cassandra mentions the hidden clustering column without declaring it: in CLUSTERING
            // ORDER BY (5.0) or in PRIMARY KEY (schema.cql of a 3.11 snapshot).
            let mut named =
                (self.declared.options.ordered_columns()).chain(&self.declared.keys.clustering);
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
        let mut clustering = self.declared.keys.clustering.iter();
        self.declared.options.compact_storage
            && clustering.all(|name| self.live_column(name).is_none())
    }

    /// Resolves the columns outside the primary key, including dropped columns.
    fn resolve_columns(&self, types: &UserTypes) -> Result<Vec<Column>> {
        let is_key = |column: &ColumnDeclaration| {
            let keys = self
                .declared
                .keys
                .partition
                .iter()
                .chain(&self.declared.keys.clustering);
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
        let (cql_type, multi_cell) = types.resolve(&column.expression, &self.declared.keyspace)?;
        Ok(Column {
            dropped_at_us: column.dropped_at_us,
            ..Column::new(column.name.clone(), kind, cql_type, multi_cell)
        })
    }
}

impl ViewDeclaration {
    /// Resolves the view with its base table's types; `tables[i]` belongs to `declarations[i]`.
    pub fn resolve(&self, declarations: &[TableDeclaration], tables: &[Table]) -> Result<Table> {
        let is_base = |table: &TableDeclaration| {
            let table = &table.declared;
            (&table.keyspace, &table.name) == (&self.base.0, &self.base.1)
        };
        let before = declarations.iter().take(self.tables_before);
        let place = (before.rev().position(is_base))
            .map(|later| self.tables_before - 1 - later)
            .or_else(|| declarations.iter().position(is_base));
        let Some(base) = place.and_then(|place| tables.get(place)) else {
            let (keyspace, name) = &self.base;
            return Err(self
                .declared
                .error(&format!("its base table {keyspace}.{name} is not declared")));
        };
        let of_kind = |names: &[String], kind| {
            (names.iter())
                .map(|name| self.column(base, name, kind))
                .collect::<Result<Vec<_>, _>>()
        };
        let partition_key = of_kind(&self.declared.keys.partition, ColumnKind::PartitionKey)?;
        let clustering = of_kind(&self.declared.keys.clustering, ColumnKind::Clustering)?;
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
        let mut view = self.declared.table(partition_key, clustering, columns)?;
        view.sort_columns();
        Ok(view)
    }

    fn column(&self, base: &Table, name: &str, kind: ColumnKind) -> Result<Column> {
        let Some(column) = base.live_columns().find(|column| column.name == name) else {
            return Err(self.declared.error(&format!(
                "its base table {}.{} has no column {name}",
                base.keyspace, base.name
            )));
        };
        Ok(Column {
            kind,
            reversed: kind == ColumnKind::Clustering && self.declared.options.is_descending(name),
            history: ColumnHistory::default(),
            ..column.clone()
        })
    }
}
