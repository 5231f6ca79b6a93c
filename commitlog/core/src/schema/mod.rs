//! What the bytes do not say: the tables behind the table ids and the types behind the column
//! names.
//!
//! A [`Schema`] is immutable; a change of schema makes another one with [`Schema::merged`],
//! which keeps every table and column that was ever seen, because a segment may be older than
//! any schema change.

mod column_history;
mod ddl;
mod marshal_class;
mod marshal_name;
mod system_rows;
mod token;
mod token_cursor;
mod type_expression;
mod type_name;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::cql_type::CqlType;

pub use ddl::parse_cql;
pub use marshal_name::marshal_name;
pub use system_rows::parse_system_rows;
pub use type_name::{UserTypes, parse_type};

/// A schema text or schema rows that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// `line` is 1-based; 0 when the source has no lines.
    #[error("schema, line {line}: {what}")]
    Syntax { line: usize, what: String },
    #[error("schema: {keyspace}.{table}: {what}")]
    Table {
        keyspace: String,
        table: String,
        what: String,
    },
}

/// Table id: the 16 bytes of the UUID, most significant first (format notes §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub [u8; 16]);

impl TableId {
    /// Reads the usual text form with its four hyphens (or without them).
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0_u8; 16];
        let mut digits = text.chars().filter(|c| *c != '-');
        for byte in &mut bytes {
            let high = digits.next()?.to_digit(16)?;
            let low = digits.next()?.to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        digits.next().is_none().then_some(Self(bytes))
    }

    /// Whether the id is derived from a name, as the ids of system tables are
    /// (`TableId#unsafeDeterministic`): a version 3 UUID. User tables carry time UUIDs.
    pub fn is_name_based(self) -> bool {
        self.uuid_version() == Some(3)
    }

    /// Whether the id is a time UUID, as Cassandra gives to user tables.
    pub fn is_time_based(self) -> bool {
        self.uuid_version() == Some(1)
    }

    /// The version of a UUID by RFC 4122; `None` for bytes that are none.
    fn uuid_version(self) -> Option<u8> {
        let [.., version, _, variant, _, _, _, _, _, _, _] = self.0;
        (variant >> 6 == 0b10).then_some(version >> 4)
    }
}

impl std::fmt::Display for TableId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Where a column stands in its table.
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
    /// Drop time in microseconds when the column is gone from the table.
    pub dropped_at_us: Option<i64>,
}

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
    /// In key order.
    pub partition_key: Vec<Column>,
    /// In key order.
    pub clustering: Vec<Column>,
    /// Regular and static columns: the regular ones by name, then the static ones by name, then
    /// those that were dropped.
    pub columns: Vec<Column>,
}

/// All tables that are known, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    tables: FxHashMap<TableId, Arc<Table>>,
}

impl Table {
    /// The place of a regular or static column in [`Table::columns`] by its name on the wire.
    pub fn column_index(&self, name: &[u8], kind: ColumnKind) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.kind == kind && column.name.as_bytes() == name)
    }

    /// Puts the columns into the order that [`Table::columns`] promises.
    pub fn sort_columns(&mut self) {
        self.columns.sort_by(|a, b| {
            let rank = |c: &Column| (c.dropped_at_us.is_some(), c.kind == ColumnKind::Static);
            rank(a)
                .cmp(&rank(b))
                .then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()))
        });
    }

    /// This table with the columns that only `older` knows, as dropped ones.
    ///
    /// A column that `older` knows as live and this one does not know at all gets the drop time
    /// `i64::MIN`: dropped, the time unknown, so no cell counts as older than the drop.
    fn with_columns_of(&self, older: &Self) -> Self {
        let mut merged = self.clone();
        for column in &older.columns {
            if merged
                .column_index(column.name.as_bytes(), column.kind)
                .is_none()
            {
                let mut dropped = column.clone();
                dropped.dropped_at_us.get_or_insert(i64::MIN);
                merged.columns.push(dropped);
            }
        }
        merged.sort_columns();
        merged
    }
}

impl Schema {
    /// A schema of these tables; of two with one id the later one wins.
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        Self {
            tables: tables
                .into_iter()
                .map(|table| (table.id, Arc::new(table)))
                .collect(),
        }
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

    /// `newer` with every table and column that only this schema knows.
    #[must_use]
    pub fn merged(&self, newer: &Self) -> Self {
        let mut tables = self.tables.clone();
        for (id, table) in &newer.tables {
            let merged = match self.tables.get(id) {
                Some(older) => Arc::new(table.with_columns_of(older)),
                None => Arc::clone(table),
            };
            tables.insert(*id, merged);
        }
        Self { tables }
    }
}
