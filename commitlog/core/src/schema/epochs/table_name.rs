//! The table that a schema statement changes.

use super::entry::{EntryContent, MetadataLogEntry};
use crate::schema::Table;
use crate::schema::token::tokens;
use crate::schema::token_cursor::TokenCursor;

impl MetadataLogEntry {
    /// Whether the entry may have changed a table. ALTER TYPE, for example, may change every table
    /// of its keyspace.
    pub(crate) fn may_change(&self, table: &Table) -> bool {
        let statement = match &self.content {
            EntryContent::Schema(statement) => statement,
            EntryContent::Other { .. } => return false,
            EntryContent::Unreadable { .. } => return true,
        };
        let is_elsewhere = (statement.keyspace.as_ref()).is_some_and(|k| *k != table.keyspace);
        !is_elsewhere && table_name(&statement.cql).is_none_or(|name| name == table.name)
    }
}

/// Returns the table after CREATE TABLE or ALTER TABLE, without its keyspace.
fn table_name(cql: &str) -> Option<String> {
    let tokens = tokens(cql).ok()?;
    let mut cursor = TokenCursor::new(&tokens);
    if !cursor.take_words(&["create", "table"]) && !cursor.take_words(&["alter", "table"]) {
        return None;
    }
    let (_, name) = cursor.qualified_name("a table").ok()?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::table_name;

    #[test]
    fn table_name_is_read_from_statement() {
        let named = |cql| table_name(cql).unwrap_or_default();
        assert_eq!(named("ALTER TABLE t ADD x int"), "t");
        assert_eq!(named("alter table if exists k.\"T\" drop x"), "T");
        assert_eq!(
            named("CREATE TABLE IF NOT EXISTS k.t (p int PRIMARY KEY)"),
            "t"
        );
        for other in [
            "ALTER TYPE k.t ADD x int",
            "DROP KEYSPACE k",
            "ALTER TABLE",
            "'",
            "",
        ] {
            assert_eq!(named(other), "", "{other}");
        }
    }
}
