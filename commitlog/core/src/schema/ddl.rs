//! Reads a schema from the CQL text that describes it.

mod alter;
mod compact;
mod create_table;
mod create_view;
mod declaration;
mod options;
mod table_statement;

use super::token::{TokenKind, statements};
use super::token_cursor::TokenCursor;
use super::type_expression::TypeExpression;
use super::type_name::{UserTypeDeclaration, UserTypes};
use super::type_versions::TypeVersions;
use super::{Result, Schema, Table};
use declaration::{TableDeclaration, ViewDeclaration};

pub use table_statement::{TableStatement, parse_table_statement};

/// Reads the output of `DESCRIBE KEYSPACE … WITH INTERNALS` or `DESCRIBE SCHEMA WITH INTERNALS`, or
/// the `schema.cql` of a snapshot (Cassandra 3.11 to 6.0).
///
/// It reads CREATE TYPE, CREATE TABLE, CREATE MATERIALIZED VIEW, USE, and ALTER TABLE with ADD,
/// DROP and WITH, including those in DESCRIBE's comments for COMPACT STORAGE tables. It rejects
/// ALTER TYPE and skips other statements and comments. A table that was dropped and created again
/// may appear twice with different ids.
///
/// COMPACT STORAGE tables get the columns that DESCRIBE hides. A hidden clustering column is read
/// as text, and the hidden value beside it as a blob or counter, as in every table created with
/// CQL. The legacy API allowed other types, which no CQL text shows.
///
/// # Errors
/// [`SchemaError::Syntax`] with the line, for invalid syntax, an undeclared type, or a table or
/// view without an id.
pub fn parse_cql(text: &str) -> Result<Schema> {
    let mut reader = DdlReader::default();
    for statement in statements(text) {
        reader.statement(&mut TokenCursor::new(&statement?))?;
    }
    reader.finish()
}

/// The declarations of the statements so far.
#[derive(Default)]
struct DdlReader {
    /// Set by USE; empty before.
    keyspace: String,
    types: Vec<UserTypeDeclaration>,
    tables: Vec<TableDeclaration>,
    views: Vec<ViewDeclaration>,
}

impl DdlReader {
    fn statement(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        if tokens.take_words(&["create", "table"]) {
            self.create_table(tokens)
        } else if tokens.take_words(&["create", "type"]) {
            self.create_type(tokens)
        } else if tokens.take_words(&["create", "materialized", "view"]) {
            self.create_view(tokens)
        } else if tokens.take_words(&["alter", "table"]) {
            self.alter_table(tokens)
        } else if tokens.at_words("alter", "type") {
            Err(tokens.error("ALTER TYPE is not supported; change its CREATE TYPE instead".into()))
        } else if tokens.take_word("use") {
            self.keyspace = tokens.expect_name("a keyspace")?;
            Ok(())
        } else if tokens.at_end() || matches!(tokens.peek(), Some(TokenKind::Word(_))) {
            Ok(())
        } else {
            Err(tokens.expected("a CQL statement"))
        }
    }

    /// Reads `[IF [NOT] EXISTS] [keyspace.]name`.
    fn qualified_name(&self, tokens: &mut TokenCursor<'_>, kind: &str) -> Result<(String, String)> {
        match tokens.qualified_name(kind)? {
            (Some(keyspace), name) => Ok((keyspace, name)),
            (None, name) if self.keyspace.is_empty() => {
                Err(tokens.expected(&format!("`.` and {kind} after its keyspace {name}")))
            }
            (None, name) => Ok((self.keyspace.clone(), name)),
        }
    }

    fn create_type(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        let (keyspace, name) = self.qualified_name(tokens, "the name of a type")?;
        let mut fields = Vec::new();
        tokens.expect_symbol('(')?;
        while !tokens.at_symbol(')') {
            let field = tokens.expect_name("the name of a field")?;
            fields.push((field, TypeExpression::parse(tokens)?));
            if !tokens.take_symbol(',') {
                break;
            }
        }
        tokens.expect_symbol(')')?;
        self.types.push(UserTypeDeclaration {
            keyspace,
            name,
            fields,
        });
        Ok(())
    }

    fn finish(self) -> Result<Schema> {
        let versions = TypeVersions::from_declarations(&self.types, 0);
        let types = UserTypes::resolve_all(self.types).map_err(|failure| failure.error)?;
        let tables = self
            .tables
            .iter()
            .map(|table| table.resolve(&types))
            .collect::<Result<Vec<Table>, _>>()?;
        let views = self
            .views
            .iter()
            .map(|view| view.resolve(&self.tables, &tables))
            .collect::<Result<Vec<Table>, _>>()?;
        let schema = Schema::new(tables.into_iter().chain(views));
        Ok(schema.with_types(versions).seen_at(0))
    }
}
