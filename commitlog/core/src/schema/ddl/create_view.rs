//! CREATE MATERIALIZED VIEW.

use super::DdlReader;
use super::create_table::{column_name, primary_key};
use super::declaration::{Declared, ViewDeclaration};
use super::options::Options;
use crate::schema::token_cursor::TokenCursor;
use crate::schema::{Result, TableKind};

impl DdlReader {
    /// Reads `name AS SELECT … FROM … WHERE … PRIMARY KEY (…) WITH …`.
    pub(super) fn create_view(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        let line = tokens.line();
        let (keyspace, name) = self.qualified_name(tokens, "the name of a view")?;
        tokens.expect_word("as")?;
        tokens.expect_word("select")?;
        let selected = if tokens.take_symbol('*') {
            None
        } else {
            Some(tokens.list(column_name)?)
        };
        tokens.expect_word("from")?;
        let base = self.qualified_name(tokens, "the name of the base table")?;
        tokens.skip_until(|tokens| tokens.at_words("primary", "key"));
        tokens.expect_word("primary")?;
        tokens.expect_word("key")?;
        let mut declared = Declared {
            kind: TableKind::View,
            keyspace,
            name,
            line,
            options: Options::default(),
            keys: primary_key(tokens)?,
        };
        declared.options.parse(tokens)?;
        declared.id()?;
        self.views.push(ViewDeclaration {
            declared,
            base,
            tables_before: self.tables.len(),
            selected,
        });
        Ok(())
    }
}
