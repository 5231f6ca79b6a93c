//! Parses a single table statement: the columns that it creates, adds or renames.

use super::alter::added_columns;
use super::create_table::{column_list, column_name};
use super::options::Options;
use super::{DdlReader, statements};
use crate::schema::token_cursor::TokenCursor;
use crate::schema::{Result, TableId};

/// A statement that creates, adds or renames columns. Tables are pairs of keyspace and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableStatement {
    Create {
        table: (String, String),
        /// The id in the WITH clause.
        id: Option<TableId>,
        /// Columns of the primary key in key order.
        key: Vec<String>,
        others: Vec<String>,
    },
    Add {
        table: (String, String),
        columns: Vec<String>,
    },
    Rename {
        table: (String, String),
        /// Old and new names.
        names: Vec<(String, String)>,
    },
}

/// Reads CREATE TABLE, and ALTER TABLE with ADD or RENAME; `keyspace` applies to unqualified names.
/// Returns `None` for other statements and for syntax errors.
pub fn parse_table_statement(keyspace: &str, text: &str) -> Option<TableStatement> {
    let first = statements(text).next()?.ok()?;
    let reader = DdlReader {
        keyspace: keyspace.to_owned(),
        ..DdlReader::default()
    };
    reader.table_statement(&mut TokenCursor::new(&first)).ok()?
}

impl DdlReader {
    fn table_statement(&self, tokens: &mut TokenCursor<'_>) -> Result<Option<TableStatement>> {
        if tokens.take_words(&["create", "table"]) {
            return self.parse_create(tokens).map(Some);
        }
        if !tokens.take_words(&["alter", "table"]) {
            return Ok(None);
        }
        let table = self.qualified_name(tokens, "the name of a table")?;
        if tokens.take_word("add") {
            tokens.take_words(&["if", "not", "exists"]);
            let columns = added_columns(tokens)?;
            let columns = columns.into_iter().map(|column| column.name).collect();
            return Ok(Some(TableStatement::Add { table, columns }));
        }
        if !tokens.take_word("rename") {
            return Ok(None);
        }
        tokens.take_words(&["if", "exists"]);
        let mut names = Vec::new();
        loop {
            let old_name = column_name(tokens)?;
            tokens.expect_word("to")?;
            names.push((old_name, column_name(tokens)?));
            if !tokens.take_word("and") {
                return Ok(Some(TableStatement::Rename { table, names }));
            }
        }
    }

    fn parse_create(&self, tokens: &mut TokenCursor<'_>) -> Result<TableStatement> {
        let table = self.qualified_name(tokens, "the name of a table")?;
        let (columns, keys) = column_list(tokens)?;
        let mut options = Options::default();
        options.parse(tokens)?;
        let key: Vec<String> = keys.partition.into_iter().chain(keys.clustering).collect();
        let others = columns.into_iter().map(|column| column.name);
        Ok(TableStatement::Create {
            table,
            id: options.id,
            others: others.filter(|name| !key.contains(name)).collect(),
            key,
        })
    }
}
