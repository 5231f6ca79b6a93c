//! What the bytes lack: the tables of table ids and the types of column names.
//!
//! A [`Schema`] is immutable; a change of schema makes another one, with [`Schema::merged`] out of
//! a node or a file, and with [`Schema::with_changes`] out of the log itself. Both keep
//! every table and every version of every column that was ever seen, because a segment may be older
//! than any schema change, and both give the same result in any order.

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

/// A schema is read by the clock of one machine and changed by that of another. A change up to this
/// much older than a schema that was read counts as newer, or a table that was published just now
/// might stay out.
const CLOCK_ERROR_US: i64 = 60_000_000;

/// A schema text or schema rows that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// `line` is 1-based; 0 when the source has no lines.
    #[error("schema, line {line}: {reason}")]
    Syntax { line: usize, reason: String },
    #[error("schema: {keyspace}.{table}: {reason}")]
    Table {
        keyspace: String,
        table: String,
        reason: String,
    },
}

pub type Result<T, E = SchemaError> = std::result::Result<T, E>;

/// The role of a column in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    PartitionKey,
    Clustering,
    Static,
    Regular,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name as it is on the wire, without quotes.
    pub name: String,
    pub kind: ColumnKind,
    pub cql_type: CqlType,
    /// Stored as several cells: a collection or a user type that is not frozen.
    pub multi_cell: bool,
    /// Clustering column in descending order.
    pub reversed: bool,
    /// Drop time in microseconds when the column is gone from the table; `i64::MIN` when the time
    /// is not known.
    pub dropped_at_us: Option<i64>,
    pub history: ColumnHistory,
}

/// When a table was seen, in microseconds; no part of what the table is.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// The last time that a source had the table.
    pub as_of_us: i64,
    /// The last time that a source had all of its columns.
    pub whole_us: i64,
    /// Write time of its row of `system_schema`, which each change of the table writes again.
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

/// What a table is, for the question whether its changes are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableKind {
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
    /// Holds counters.
    pub counter: bool,
    /// COMPACT STORAGE with clustering columns: a row is its one regular cell, without liveness, and
    /// CQL deletes a row by a tombstone of that cell (`UpdateParameters#addRowDeletion`).
    pub dense: bool,
    /// In key order.
    pub partition_key: Vec<Column>,
    /// In key order.
    pub clustering: Vec<Column>,
    /// Regular and static columns: the regular ones by name, then the static ones by name, then
    /// those that were dropped. A column that came back with another type is there once for each.
    pub columns: Vec<Column>,
    pub observed: Observed,
}

/// All tables that are known, by id.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    tables: FxHashMap<TableId, Arc<Table>>,
    /// What is known of tables whose key is not known.
    fragments: FxHashMap<TableId, Arc<Table>>,
    types: TypeVersions,
    epochs: Epochs,
}

/// Equal when both read everything alike, whenever they were seen.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.tables == other.tables
    }
}

impl Eq for Schema {}

impl Table {
    /// The place of a regular or static column in [`Table::columns`] by its name on the wire.
    pub fn column_index(&self, name: &[u8], kind: ColumnKind) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.kind == kind && column.name.as_bytes() == name)
    }

    /// Puts the columns into the order that [`Table::columns`] promises.
    pub fn sort_columns(&mut self) {
        column_history::sort(&mut self.columns);
    }

    /// Whether a column is there with more than one type.
    pub fn has_versions(&self) -> bool {
        self.columns.iter().enumerate().any(|(place, column)| {
            let others = self.columns.iter().skip(place + 1);
            others.into_iter().any(|other| other.is_namesake(column))
        })
    }
}

impl Schema {
    /// A schema of these tables; of two with one id the later one wins.
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

    /// This schema, as seen at a time (microseconds): of two schemas the one that was seen later decides
    /// which columns are there, what they are called and which tables are published.
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

    /// Tables in the order of keyspace, name and id.
    pub fn tables(&self) -> Vec<&Arc<Table>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_by(|a, b| (&a.keyspace, &a.name, a.id.0).cmp(&(&b.keyspace, &b.name, b.id.0)));
        tables
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// What both know, as one. Of two that were seen at one time `newer` counts as the newer one.
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

    /// Whether both know the same, of types without a table too.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other
            && self.fragments == other.fragments
            && self.types.is_same(&other.types)
            && self.epochs == other.epochs
    }

    /// This schema with at most `limit` tables that `alive` does not have: those that were told of
    /// last.
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

    /// Merges a table into the known one.
    fn insert(&mut self, table: &Arc<Table>) {
        let id = table.id;
        let known = self.tables.get(&id).or_else(|| self.fragments.get(&id));
        let joined = match known {
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

    /// Brings the user types in the tables of a keyspace, or of all, up to what is known of them.
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
