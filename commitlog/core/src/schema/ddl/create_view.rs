//! CREATE MATERIALIZED VIEW.

use super::DdlReader;
use super::create_table::{names, primary_key};
use super::declaration::ViewDeclaration;
use super::options::Options;
use crate::schema::token_cursor::TokenCursor;
use crate::schema::{Result, SchemaError};

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
            Some(names(tokens)?)
        };
        tokens.expect_word("from")?;
        let base = self.qualified_name(tokens, "the name of the base table")?;
        tokens.skip_until(|tokens| tokens.at_words("primary", "key"));
        tokens.expect_word("primary")?;
        tokens.expect_word("key")?;
        let keys = primary_key(tokens)?;
        let mut options = Options::default();
        options.parse(tokens)?;
        let id = options.id.ok_or_else(|| SchemaError::Syntax {
            line,
            reason: format!(
                "materialized view {keyspace}.{name}: expected WITH ID = …; describe the schema \
                 WITH INTERNALS to get the ids"
            ),
        })?;
        self.views.push(ViewDeclaration {
            keyspace,
            name,
            line,
            id,
            options,
            base,
            tables_before: self.tables.len(),
            selected,
            keys,
        });
        Ok(())
    }
}
