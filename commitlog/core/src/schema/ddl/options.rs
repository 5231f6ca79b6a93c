//! The WITH clause of tables and views.

use crate::schema::token::TokenKind;
use crate::schema::token_cursor::TokenCursor;
use crate::schema::{Result, TableId};

/// The options of a WITH clause that the reader needs.
#[derive(Default)]
pub(super) struct Options {
    pub id: Option<TableId>,
    pub cdc: bool,
    pub compact_storage: bool,
    /// The columns of CLUSTERING ORDER BY, and whether they are descending.
    order: Vec<(String, bool)>,
}

impl Options {
    pub fn is_descending(&self, column: &str) -> bool {
        let mut order = self.order.iter();
        order.any(|(name, is_descending)| name == column && *is_descending)
    }

    /// Returns the columns of CLUSTERING ORDER BY.
    pub fn ordered_columns(&self) -> impl Iterator<Item = &String> {
        self.order.iter().map(|(name, _)| name)
    }

    /// Reads an optional `WITH option AND option …` up to the end of the statement.
    pub fn parse(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
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

    fn option(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
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

    /// Reads `(column [ASC | DESC], …)`.
    fn clustering_order(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        tokens.expect_symbol('(')?;
        self.order.extend(tokens.list(|tokens| {
            let column = tokens.expect_name("a clustering column")?;
            let is_descending = tokens.take_word("desc");
            if !is_descending {
                tokens.take_word("asc");
            }
            Ok((column, is_descending))
        })?);
        tokens.expect_symbol(')')
    }
}

fn table_id(tokens: &mut TokenCursor<'_>) -> Result<TableId> {
    let is_short = tokens.take_word("tid") && tokens.take_symbol(':');
    let id = match tokens.peek() {
        Some(TokenKind::Word(text)) if is_short => TableId::parse_short(text),
        Some(TokenKind::Uuid(text)) => TableId::parse(text),
        Some(TokenKind::Literal(text)) => match text.strip_prefix("tid:") {
            Some(digits) => TableId::parse_short(digits),
            None => TableId::parse(text),
        },
        _ => None,
    };
    let id = id.ok_or_else(|| tokens.expected("the table id as a UUID"))?;
    tokens.advance();
    Ok(id)
}

fn boolean(tokens: &mut TokenCursor<'_>) -> Result<bool> {
    let text = match tokens.peek() {
        Some(TokenKind::Word(text)) => text.to_lowercase(),
        Some(TokenKind::Literal(text)) => text.to_lowercase(),
        _ => String::new(),
    };
    let value = (text.parse()).map_err(|_| tokens.expected("true or false"))?;
    tokens.advance();
    Ok(value)
}
