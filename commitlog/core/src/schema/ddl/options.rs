//! The WITH clause of tables and views.

use crate::schema::token::TokenKind;
use crate::schema::token_cursor::TokenCursor;
use crate::schema::{SchemaError, TableId};

/// What a WITH clause says about the bytes; all other options are left out.
#[derive(Default)]
pub(super) struct Options {
    pub id: Option<TableId>,
    pub cdc: bool,
    pub compact_storage: bool,
    /// Clustering columns in descending order.
    pub descending: Vec<String>,
}

impl Options {
    pub fn is_descending(&self, column: &str) -> bool {
        self.descending.iter().any(|name| name == column)
    }

    /// Reads `WITH option AND option …` up to the end of the statement, if it is there.
    pub fn parse(&mut self, tokens: &mut TokenCursor<'_>) -> Result<(), SchemaError> {
        if tokens.at_end() {
            return Ok(());
        }
        tokens.expect_word("with")?;
        loop {
            self.option(tokens)?;
            if tokens.at_end() {
                return Ok(());
            }
            tokens.expect_word("and")?;
        }
    }

    fn option(&mut self, tokens: &mut TokenCursor<'_>) -> Result<(), SchemaError> {
        if tokens.take_words(&["compact", "storage"]) {
            self.compact_storage = true;
        } else if tokens.take_words(&["clustering", "order", "by"]) {
            self.clustering_order(tokens)?;
        } else {
            let name = tokens.expect_name("a table option")?;
            tokens.expect_symbol('=')?;
            match name.as_str() {
                "id" => self.id = Some(table_id(tokens)?),
                "cdc" => self.cdc = boolean(tokens)?,
                _ => tokens.skip_until(|tokens| tokens.at_word("and")),
            }
        }
        Ok(())
    }

    /// `(column [ASC | DESC], …)`.
    fn clustering_order(&mut self, tokens: &mut TokenCursor<'_>) -> Result<(), SchemaError> {
        tokens.expect_symbol('(')?;
        loop {
            let column = tokens.expect_name("a clustering column")?;
            if tokens.take_word("desc") {
                self.descending.push(column);
            } else {
                tokens.take_word("asc");
            }
            if !tokens.take_symbol(',') {
                return tokens.expect_symbol(')');
            }
        }
    }
}

fn table_id(tokens: &mut TokenCursor<'_>) -> Result<TableId, SchemaError> {
    let id = match tokens.peek() {
        Some(TokenKind::Uuid(text)) => TableId::parse(text),
        Some(TokenKind::Literal(text)) => TableId::parse(text),
        _ => None,
    };
    let id = id.ok_or_else(|| tokens.expected("the table id as a UUID"))?;
    tokens.advance();
    Ok(id)
}

fn boolean(tokens: &mut TokenCursor<'_>) -> Result<bool, SchemaError> {
    let text = match tokens.peek() {
        Some(TokenKind::Word(text)) => text.to_lowercase(),
        Some(TokenKind::Literal(text)) => text.to_lowercase(),
        _ => String::new(),
    };
    let value = match text.as_str() {
        "true" => true,
        "false" => false,
        _ => return Err(tokens.expected("true or false")),
    };
    tokens.advance();
    Ok(value)
}
