//! The schema: tables by the ids in segments, and types by column names.
//!
//! A [`Schema`] is immutable. A change creates a new schema: [`Schema::merged`] applies a node's
//! schema or a file, [`Schema::with_changes`] the log. Both keep every table and every column
//! version that was ever seen, because a segment may be older than any schema change. Both give the
//! same result in any order.

mod announced;
mod by_epoch;
mod change;
mod column_history;
mod cql_text;
mod ddl;
mod epochs;
mod joining;
mod marshal_class;
mod marshal_name;
mod opaque;
mod stored;
mod system_rows;
mod table_change;
mod token;
mod token_cursor;
mod type_expression;
mod type_name;
mod type_versions;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cql_type::CqlType;
use epochs::Epochs;
use type_versions::TypeVersions;

pub use crate::table_id::TableId;
pub use announced::{AnnouncedSchema, UnannouncedTable};
pub use change::SchemaChange;
pub use column_history::{ColumnHistory, version_at};
pub use cql_text::column_type;
pub use ddl::{TableStatement, parse_cql, parse_table_statement};
pub use epochs::{EntryContent, MetadataLogEntry, SchemaStatement};
pub use marshal_name::marshal_name;
pub use system_rows::parse_system_rows;
pub(crate) use system_rows::rows;
pub(crate) use table_change::is_system;
pub use table_change::{ChangeKind, Statement, TableChange};
pub use type_name::{UserTypes, parse_type};

/// Different machines' clocks time the reading of a schema and its changes. A change up to this
/// much older than a schema counts as newer; otherwise, a new table might be missed.
const CLOCK_ERROR_US: i64 = 60_000_000;

/// An invalid schema text or invalid schema rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// `line` is 1-based; 0 if the source has no lines.
    #[error("schema, line {line}: {reason}")]
    Syntax { line: usize, reason: String },
    #[error("schema: {keyspace}.{table}: {reason}")]
    Table {
        keyspace: String,
        table: String,
        reason: String,
    },
}

impl SchemaError {
    fn in_table(keyspace: &str, table: &str, reason: impl Into<String>) -> Self {
        Self::Table {
            keyspace: keyspace.to_owned(),
            table: table.to_owned(),
            reason: reason.into(),
        }
    }

    /// Returns the reason without the place.
    fn reason(&self) -> &str {
        match self {
            Self::Syntax { reason, .. } | Self::Table { reason, .. } => reason,
        }
    }
}

pub type Result<T, E = SchemaError> = std::result::Result<T, E>;

/// The role of a column in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    PartitionKey,
    Clustering,
    Static,
    Regular,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name as serialized, without quotes.
    pub name: String,
    pub kind: ColumnKind,
    pub cql_type: CqlType,
    /// Whether it is stored as several cells: an unfrozen collection or user type.
    pub multi_cell: bool,
    /// Whether it is a clustering column in descending order.
    pub reversed: bool,
    /// Drop time in microseconds if the column was dropped; `i64::MIN` if the time is unknown.
    pub dropped_at_us: Option<i64>,
    pub history: ColumnHistory,
}

/// When a table was seen, in microseconds; equality ignores it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Observed {
    /// The latest time at which a source contained the table.
    pub as_of_us: i64,
    /// The latest time at which a source contained all of its columns.
    pub whole_us: i64,
    /// Write time of its row in `system_schema`, which each change of the table rewrites.
    pub changed_us: i64,
}

impl Default for Observed {
    fn default() -> Self {
        Self {
            as_of_us: i64::MIN,
            whole_us: i64::MIN,
            changed_us: i64::MIN,
        }
    }
}

impl PartialEq for Observed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Observed {}

/// Whether a table is an ordinary table or a materialized view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TableKind {
    #[default]
    Table,
    View,
}

/// A table with every column that it ever had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub id: TableId,
    pub keyspace: String,
    pub name: String,
    pub kind: TableKind,
    /// The `cdc` option.
    pub cdc: bool,
    /// Whether it contains counters.
    pub counter: bool,
    /// Whether it uses COMPACT STORAGE with clustering columns: a row is one regular cell without
    /// liveness, which CQL deletes with a tombstone of that cell
    /// (`UpdateParameters#addRowDeletion`).
    pub dense: bool,
    /// In key order.
    pub partition_key: Vec<Column>,
    /// In key order.
    pub clustering: Vec<Column>,
    /// Regular and static columns: regular columns by name, static columns by name, then dropped
    /// columns. A column that was re-added with a different type appears once for each type.
    pub columns: Vec<Column>,
    pub observed: Observed,
}

/// All known tables, by id.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    tables: FxHashMap<TableId, Arc<Table>>,
    /// Tables with unknown key columns.
    fragments: FxHashMap<TableId, Arc<Table>>,
    types: TypeVersions,
    epochs: Epochs,
}

/// Schemas are equal if they decode everything alike, regardless of when they were seen.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.tables == other.tables
    }
}

impl Eq for Schema {}

impl ColumnKind {
    /// Parses Cassandra's name for a kind.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "partition_key" => Self::PartitionKey,
            "clustering" => Self::Clustering,
            "static" => Self::Static,
            "regular" => Self::Regular,
            _ => return None,
        })
    }

    pub(crate) fn is_key(self) -> bool {
        matches!(self, Self::PartitionKey | Self::Clustering)
    }
}

impl Column {
    /// Creates a live column in ascending order, without a history.
    pub(crate) fn new(name: String, kind: ColumnKind, cql_type: CqlType, multi_cell: bool) -> Self {
        Self {
            name,
            kind,
            cql_type,
            multi_cell,
            reversed: false,
            dropped_at_us: None,
            history: ColumnHistory::default(),
        }
    }
}

impl Table {
    /// Returns the index in [`Table::columns`] of a regular or static column, by serialized name.
    pub fn column_index(&self, name: &[u8], kind: ColumnKind) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.kind == kind && column.name.as_bytes() == name)
    }

    /// Sorts the columns into the order of [`Table::columns`].
    pub fn sort_columns(&mut self) {
        column_history::sort(&mut self.columns);
    }

    /// Whether a column appears with more than one type.
    pub fn has_versions(&self) -> bool {
        self.columns.iter().enumerate().any(|(place, column)| {
            let others = self.columns.iter().skip(place + 1);
            others.into_iter().any(|other| other.is_namesake(column))
        })
    }
}

impl Schema {
    /// Creates a schema; of two tables with the same id, the later one wins.
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        Self {
            tables: tables
                .into_iter()
                .map(|table| (table.id, Arc::new(table.bounded())))
                .collect(),
            ..Self::default()
        }
    }

    fn with_types(mut self, types: TypeVersions) -> Self {
        self.types = types;
        self
    }

    /// Returns this schema as seen at a time, in microseconds. When schemas are merged, the later
    /// one determines which columns exist, their names, and which tables are published.
    #[must_use]
    pub fn seen_at(&self, time_us: i64) -> Self {
        let mut schema = self.clone();
        for table in schema.tables.values_mut() {
            Arc::make_mut(table).observe(time_us, CLOCK_ERROR_US);
        }
        schema.types = schema.types.seen_at(time_us);
        schema
    }

    pub fn table(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// Returns all tables, ordered by keyspace, name and id.
    pub fn tables(&self) -> Vec<&Arc<Table>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_by(|a, b| (&a.keyspace, &a.name, a.id.0).cmp(&(&b.keyspace, &b.name, b.id.0)));
        tables
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Merges both schemas. If they were seen at the same time, `newer` counts as newer.
    #[must_use]
    pub fn merged(&self, newer: &Self) -> Self {
        let mut schema = self.clone();
        for table in newer.tables.values().chain(newer.fragments.values()) {
            schema.insert(&self.in_order_of(table, &newer.epochs));
        }
        schema.epochs.join(&newer.epochs);
        if !schema.types.is_same(&newer.types) {
            schema.types.join(&newer.types);
            schema.grow(None);
        }
        schema
    }

    /// Whether both contain the same information, including types without a table.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other
            && self.fragments == other.fragments
            && self.types.is_same(&other.types)
            && self.epochs == other.epochs
    }

    /// Returns this schema with at most `limit` tables that `alive` does not contain: the tables
    /// that were seen most recently.
    #[must_use]
    pub fn bounded(&self, alive: &Self, limit: usize) -> Self {
        let mut schema = self.clone();
        let is_dead = |id: &TableId| alive.table(*id).is_none();
        for tables in [&mut schema.tables, &mut schema.fragments] {
            let mut dead: Vec<_> = tables
                .values()
                .filter(|table| is_dead(&table.id))
                .map(|table| (table.observed.as_of_us, table.id))
                .collect();
            dead.sort_unstable();
            let surplus = dead.len().saturating_sub(limit);
            for (_, id) in dead.into_iter().take(surplus) {
                tables.remove(&id);
                schema.epochs.remove(id);
            }
        }
        schema
    }

    /// Merges a table into the known table.
    fn insert(&mut self, table: &Arc<Table>) {
        let id = table.id;
        let joined = match self.known(id) {
            Some(known) if known == table && known.observed.as_of_us >= table.observed.as_of_us => {
                return;
            }
            Some(known) => Arc::new(known.join(table).bounded()),
            None => Arc::clone(table),
        };
        if joined.is_whole() {
            self.fragments.remove(&id);
            self.tables.insert(id, joined);
        } else {
            self.fragments.insert(id, joined);
        }
    }

    /// Updates the user types in the tables of one or all keyspaces to the known versions.
    fn grow(&mut self, keyspace: Option<&str>) {
        let mut definitions = FxHashMap::default();
        for table in self.tables.values_mut().chain(self.fragments.values_mut()) {
            if keyspace.is_some_and(|keyspace| keyspace != table.keyspace) {
                continue;
            }
            let known = definitions
                .entry(table.keyspace.clone())
                .or_insert_with(|| self.types.definitions(&table.keyspace));
            if let Some(grown) = table.grow(known) {
                *table = Arc::new(grown.bounded());
            }
        }
    }
}
