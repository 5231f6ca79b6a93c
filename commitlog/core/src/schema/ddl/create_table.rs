//! CREATE TABLE.

use super::DdlReader;
use super::declaration::{ColumnDeclaration, Declared, Keys, TableDeclaration};
use super::options::Options;
use crate::schema::token_cursor::TokenCursor;
use crate::schema::type_expression::TypeExpression;
use crate::schema::{Result, TableKind};

impl DdlReader {
    /// Reads `name (columns…) WITH …`.
    pub(super) fn create_table(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        let line = tokens.line();
        let (keyspace, name) = self.qualified_name(tokens, "the name of a table")?;
        let (columns, keys) = column_list(tokens)?;
        let mut declared = Declared {
            kind: TableKind::Table,
            keyspace,
            name,
            line,
            options: Options::default(),
            keys,
        };
        if declared.keys.partition.is_empty() {
            return Err(declared.error("expected a PRIMARY KEY"));
        }
        declared.options.parse(tokens)?;
        declared.id()?;
        for (index, column) in columns.iter().enumerate() {
            let ColumnDeclaration { name, line, .. } = column;
            if columns.iter().take(index).any(|other| other.name == *name) {
                return Err(declared.error_at(*line, &format!("column {name} appears twice")));
            }
        }
        self.tables.push(TableDeclaration { declared, columns });
        Ok(())
    }
}

/// Reads `(column type …, …, PRIMARY KEY (…))`.
pub(super) fn column_list(tokens: &mut TokenCursor<'_>) -> Result<(Vec<ColumnDeclaration>, Keys)> {
    let mut columns = Vec::new();
    let mut keys = Keys::default();
    tokens.expect_symbol('(')?;
    while !tokens.at_symbol(')') {
        if tokens.take_words(&["primary", "key"]) {
            keys = primary_key(tokens)?;
        } else {
            let (column, is_primary_key) = column(tokens)?;
            if is_primary_key {
                keys.partition.push(column.name.clone());
            }
            columns.push(column);
        }
        if !tokens.take_symbol(',') {
            break;
        }
    }
    tokens.expect_symbol(')')?;
    Ok((columns, keys))
}

/// Reads `name type [STATIC] [PRIMARY KEY]`; returns true if PRIMARY KEY is present. It skips other
/// attributes, such as masks.
pub(super) fn column(tokens: &mut TokenCursor<'_>) -> Result<(ColumnDeclaration, bool)> {
    let line = tokens.line();
    let name = column_name(tokens)?;
    let expression = TypeExpression::parse(tokens)?;
    let is_static = tokens.take_word("static");
    let attribute_end = |tokens: &TokenCursor<'_>| {
        tokens.at_symbol(',') || tokens.at_symbol(')') || tokens.at_words("primary", "key")
    };
    if !tokens.at_end() && !attribute_end(tokens) {
        if !tokens.at_any_word() {
            return Err(tokens.expected("`,` or `)` after the column"));
        }
        tokens.skip_until(attribute_end);
    }
    let is_primary_key = tokens.take_words(&["primary", "key"]);
    let column = ColumnDeclaration {
        name,
        line,
        expression,
        is_static,
        dropped_at_us: None,
    };
    Ok((column, is_primary_key))
}

/// Reads `(partition key, clustering…)` or `((partition key, …), clustering…)`.
pub(super) fn primary_key(tokens: &mut TokenCursor<'_>) -> Result<Keys> {
    let mut keys = Keys::default();
    tokens.expect_symbol('(')?;
    if tokens.take_symbol('(') {
        keys.partition = tokens.list(column_name)?;
        tokens.expect_symbol(')')?;
    } else {
        keys.partition.push(column_name(tokens)?);
    }
    if tokens.take_symbol(',') {
        keys.clustering = tokens.list(column_name)?;
    }
    tokens.expect_symbol(')')?;
    Ok(keys)
}

pub(super) fn column_name(tokens: &mut TokenCursor<'_>) -> Result<String> {
    tokens.expect_name("the name of a column")
}
