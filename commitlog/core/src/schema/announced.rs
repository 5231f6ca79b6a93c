//! Table definitions that messages in the schema-change topic have announced.
//!
//! A change is announced at its position in the log, so nodes and files may already be newer.
//! [`AnnouncedSchema::lacks`] finds unannounced definitions, which the log may no longer contain.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stored::StoredSchema;
use super::table_change::{ChangeKind, Statement, TableChange, is_system};
use super::{Column, EntryContent, Result, Schema, SchemaChange, SchemaError, Table, TableId};

/// Maximum number of remembered dropped tables, so that old segments do not announce them again.
const MOST_DROPPED: usize = 4096;

/// The announced definitions. Immutable, like a [`Schema`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnouncedSchema {
    schema: Schema,
    /// Ids of dropped tables, in the order of the drops.
    dropped: Vec<TableId>,
    /// The latest schema change in the metadata log, until its rows follow.
    statement: Option<Statement>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    schema: StoredSchema,
    dropped: Vec<String>,
    statement: Option<Statement>,
}

impl AnnouncedSchema {
    /// Announces all tables of a schema as created, except for Cassandra's system tables.
    pub fn initial(schema: &Schema) -> (Self, Vec<TableChange>) {
        let mut schema = schema.clone();
        let is_own = |table: &Table| !is_system(&table.keyspace);
        schema.tables.retain(|_, table| is_own(table));
        schema.fragments.retain(|_, table| is_own(table));
        let tables = schema.tables().into_iter().map(TableChange::create);
        let changes = tables.collect();
        let announced = Self {
            schema,
            ..Self::default()
        };
        (announced, changes)
    }

    /// Applies a change in the log; returns the new state and the resulting table changes. A change
    /// that is older than a table's announced definition has no effect.
    pub fn apply(&self, change: &SchemaChange) -> (Self, Vec<TableChange>) {
        let mut after = self.clone();
        after.schema = self.schema.with_changes([change]);
        if let Some(entry) = change.entry() {
            let cql = match &entry.content {
                EntryContent::Schema(statement) => Some(statement.cql.clone()),
                EntryContent::Unreadable { .. } => None,
                EntryContent::Other { .. } => return (after, Vec::new()),
            };
            let epoch = entry.epoch;
            after.statement = Some(Statement { epoch, cql });
            return (after, Vec::new());
        }
        for id in &self.dropped {
            after.schema.tables.remove(id);
        }
        let mut changes = Vec::new();
        for table in after.schema.tables() {
            if table.keyspace == change.keyspace() {
                let before = self.schema.table(table.id);
                let time_us = change.time_us(&table.name);
                changes.extend(TableChange::compare(before, table, time_us));
            }
        }
        for table in self.schema.tables() {
            let dropped_us = change.dropped_us(&table.name);
            let Some(time_us) = dropped_us.filter(|_| table.keyspace == change.keyspace()) else {
                continue;
            };
            // A newer table may have the same name as the dropped table.
            if table.observed.changed_us <= time_us {
                changes.retain(|change| change.table.id != table.id);
                after.drop_table(table.id);
                changes.push(TableChange::new(ChangeKind::Drop, table, None, time_us));
            }
        }
        if !changes.is_empty() {
            // The statement belongs to this change only.
            let statement = after.statement.take();
            for change in &mut changes {
                change.statement.clone_from(&statement);
            }
        }
        (after, changes)
    }

    /// Takes a table from `schema`; returns the new state and the resulting change.
    pub fn with_table_of(&self, schema: &Schema, id: TableId) -> (Self, Option<TableChange>) {
        let mut after = self.clone();
        let Some(table) = schema.table(id) else {
            return (after, None);
        };
        after.schema.types.join(&schema.types);
        after.schema.tables.insert(id, Arc::clone(table));
        let before = self.schema.table(id);
        // Since 6.0, table ids are not based on time, and every node writes a different time.
        let time_us = if id.is_time_based() {
            table.observed.changed_us
        } else {
            i64::MIN
        };
        let change = TableChange::compare(before, table, time_us);
        (after, change)
    }

    /// Returns the part of a table that must be announced before events that need it are published.
    pub fn lacks(&self, table: &Table) -> Option<UnannouncedTable> {
        if self.dropped.contains(&table.id) {
            return None;
        }
        let Some(known) = self.schema.table(table.id) else {
            return Some(UnannouncedTable::Whole);
        };
        let columns = (table.live_others()).filter(|column| !known.has_live(column));
        let columns: Vec<String> = columns.map(|column| column.name.clone()).collect();
        (!columns.is_empty()).then_some(UnannouncedTable::Columns(columns))
    }

    /// Whether an update with these columns needs the unannounced part. `table` is the definition
    /// that decoded the update, which may be older than the schema.
    pub fn is_lacking_for(
        &self,
        unannounced: &UnannouncedTable,
        table: &Table,
        columns: impl Iterator<Item = u32>,
    ) -> bool {
        let UnannouncedTable::Columns(names) = unannounced else {
            return true;
        };
        let known = self.schema.table(table.id);
        let mut columns = columns.filter_map(|index| table.columns.get(index as usize));
        columns.any(|column| {
            let is_announced = known.is_some_and(|known| known.has_live(column));
            !is_announced && names.contains(&column.name)
        })
    }

    fn drop_table(&mut self, id: TableId) {
        self.schema.tables.remove(&id);
        self.dropped.push(id);
        if self.dropped.len() > MOST_DROPPED {
            self.dropped.remove(0);
        }
    }

    /// Serializes the announced definitions as JSON for [`AnnouncedSchema::from_stored`].
    pub fn to_stored(&self) -> String {
        let stored = Stored {
            schema: StoredSchema::from_schema(&self.schema),
            dropped: self.dropped.iter().map(TableId::to_string).collect(),
            statement: self.statement.clone(),
        };
        // Texts and numbers can always be serialized.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads the output of [`AnnouncedSchema::to_stored`].
    ///
    /// # Errors
    /// [`SchemaError`] for any other input.
    pub fn from_stored(json: &[u8]) -> Result<Self> {
        let syntax = |reason: String| SchemaError::Syntax { line: 0, reason };
        let stored: Stored =
            serde_json::from_slice(json).map_err(|error| syntax(error.to_string()))?;
        let dropped = stored.dropped.iter().map(|id| {
            TableId::parse(id).ok_or_else(|| syntax(format!("the table id {id} is not a UUID")))
        });
        Ok(Self {
            dropped: dropped.collect::<Result<_>>()?,
            statement: stored.statement,
            schema: stored.schema.schema()?,
        })
    }
}

impl Table {
    /// Whether this version of a column outside the key is current.
    fn has_live(&self, column: &Column) -> bool {
        self.live_others().any(|other| other.is_same(column))
    }
}

/// The unannounced part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnannouncedTable {
    Whole,
    /// The names of live columns.
    Columns(Vec<String>),
}
