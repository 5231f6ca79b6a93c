//! The schema out of the CQL text that describes it.

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

/// Reads what `DESCRIBE KEYSPACE … WITH INTERNALS` and `DESCRIBE SCHEMA WITH INTERNALS` print, or
/// the `schema.cql` of a snapshot (Cassandra 3.11 to 6.0).
///
/// Understood are CREATE TYPE, CREATE TABLE, CREATE MATERIALIZED VIEW, USE, and ALTER TABLE with
/// ADD, DROP and WITH; also the tables that DESCRIBE puts into a comment because they were made
/// with COMPACT STORAGE. All other statements and comments are skipped. A table may appear
/// there twice with different ids, as a dropped one and the one that came after it.
///
/// COMPACT STORAGE tables get the columns that DESCRIBE hides. The clustering column of one without
/// clustering columns is taken for text and its value for a blob, as in every such table that was
/// made by CQL; with the legacy API they could have other types, which no CQL text shows.
///
/// # Errors
/// [`SchemaError::Syntax`] with the line, for a text that is not understood, a type that is not
/// declared, or a table or view without its id.
pub fn parse_cql(text: &str) -> Result<Schema> {
    let mut reader = DdlReader::default();
    for statement in statements(text) {
        reader.statement(&mut TokenCursor::new(&statement?))?;
    }
    reader.finish()
}

/// What the statements up to here declare.
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

    /// `[IF NOT EXISTS] [keyspace.]name`.
    fn qualified_name(&self, tokens: &mut TokenCursor<'_>, kind: &str) -> Result<(String, String)> {
        tokens.take_words(&["if", "not", "exists"]);
        tokens.take_words(&["if", "exists"]);
        let first = tokens.expect_name(kind)?;
        if tokens.take_symbol('.') {
            Ok((first, tokens.expect_name(kind)?))
        } else if self.keyspace.is_empty() {
            Err(tokens.expected(&format!("`.` and {kind} after its keyspace {first}")))
        } else {
            Ok((self.keyspace.clone(), first))
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
