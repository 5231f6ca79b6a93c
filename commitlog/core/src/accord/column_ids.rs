//! The ids that identify columns in transactions (`ColumnMetadata.uniqueId`).
//!
//! No system table stores them. Cassandra numbers the key columns first, then the others by name.
//! Each added column gets the next id, and a re-added column its former id
//! (`TableMetadata.Builder#build`). So the ids follow from the statements in the node's metadata
//! log, if it contains the table's creation.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::schema::{MetadataLogEntry, TableId, TableStatement, parse_table_statement};

/// The column ids and names of each table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnIds {
    tables: FxHashMap<TableId, BTreeMap<u64, String>>,
    /// The latest table for each keyspace and table name.
    latest: FxHashMap<(String, String), TableId>,
}

impl ColumnIds {
    pub fn name(&self, table: TableId, id: u64) -> Option<&str> {
        self.tables.get(&table)?.get(&id).map(String::as_str)
    }

    pub fn is_known(&self, table: TableId) -> bool {
        self.tables.contains_key(&table)
    }

    /// Applies an entry of the metadata log. Entries that change no table or cannot be parsed are
    /// ignored: their columns stay unknown.
    pub fn apply(&mut self, entry: &MetadataLogEntry) {
        if let Some(statement) = entry.statement() {
            let keyspace = statement.keyspace.as_deref().unwrap_or_default();
            self.change(entry.epoch as u64, keyspace, &statement.cql);
        }
    }

    fn change(&mut self, epoch: u64, keyspace: &str, statement: &str) {
        match parse_table_statement(keyspace, statement) {
            Some(TableStatement::Create {
                table,
                id,
                key,
                mut others,
            }) => {
                others.sort();
                let columns = key.into_iter().chain(others);
                let id = id.unwrap_or(TableId::from_epoch(epoch.wrapping_sub(1)));
                self.tables.insert(id, (0..).zip(columns).collect());
                self.latest.insert(table, id);
            }
            Some(TableStatement::Add { table, columns }) => {
                let Some(ids) = self.latest_ids(&table) else {
                    return;
                };
                for column in columns {
                    if !ids.values().any(|name| *name == column) {
                        let next = ids.last_key_value().map_or(0, |(last, _)| last + 1);
                        ids.insert(next, column);
                    }
                }
            }
            Some(TableStatement::Rename { table, names }) => {
                let Some(ids) = self.latest_ids(&table) else {
                    return;
                };
                for (old, new) in names {
                    if let Some(name) = ids.values_mut().find(|name| **name == old) {
                        *name = new;
                    }
                }
            }
            None => {}
        }
    }

    fn latest_ids(&mut self, table: &(String, String)) -> Option<&mut BTreeMap<u64, String>> {
        self.tables.get_mut(self.latest.get(table)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_ids_follow_statements() {
        let mut ids = ColumnIds::default();
        let create = "CREATE TABLE k.t (zk int, ak text, c1 int, s1 text static, v2 int, v1 text, \
                      PRIMARY KEY ((zk, ak), c1)) WITH cdc = true";
        ids.change(5, "k", create);
        ids.change(7, "k", "ALTER TABLE t ADD a0 int");
        ids.change(8, "k", "ALTER TABLE k.t DROP v2");
        ids.change(
            9,
            "k",
            "alter table k.t add if not exists (v2 int, \"X\" frozen<list<int>>)",
        );
        ids.change(10, "k", "ALTER TABLE k.t RENAME c1 TO c2");
        let id = TableId::from_epoch(4);
        let names: Vec<_> = (0..9).map(|n| ids.name(id, n).unwrap_or("-")).collect();
        assert_eq!(names, ["zk", "ak", "c2", "s1", "v1", "v2", "a0", "X", "-"]);
    }

    #[test]
    fn other_statements_add_no_column_ids() {
        let mut ids = ColumnIds::default();
        for statement in [
            "CREATE KEYSPACE k WITH replication = {}",
            "ALTER TABLE k.unknown ADD a int",
            "CREATE TABLE k.b LIKE k.a",
            "null",
            "",
        ] {
            ids.change(2, "k", statement);
        }
        assert_eq!(ids, ColumnIds::default());
    }
}
