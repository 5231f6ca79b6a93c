//! ALTER TABLE: DESCRIBE creates tables with dropped columns and then drops these columns.

use super::DdlReader;
use super::create_table::{column, column_name};
use super::declaration::{ColumnDeclaration, TableDeclaration};
use crate::schema::Result;
use crate::schema::token::TokenKind;
use crate::schema::token_cursor::TokenCursor;

/// The drop time of columns dropped without USING TIMESTAMP: unknown, so no cell counts as older.
const UNKNOWN_DROP_TIME_US: i64 = i64::MIN;

impl DdlReader {
    /// Reads `name ADD …`, `name DROP …` or `name WITH …`; changes the latest table with that name.
    pub(super) fn alter_table(&mut self, tokens: &mut TokenCursor<'_>) -> Result<()> {
        let (keyspace, name) = self.qualified_name(tokens, "the name of a table")?;
        let mut tables = self.tables.iter_mut().rev();
        let Some(table) = tables
            .find(|table| (&table.declared.keyspace, &table.declared.name) == (&keyspace, &name))
        else {
            return Err(tokens.error(format!(
                "table {keyspace}.{name} is not declared before this statement"
            )));
        };
        if tokens.at_word("with") {
            // A table keeps its id.
            let id = table.declared.options.id;
            table.declared.options.parse(tokens)?;
            table.declared.options.id = id;
            return Ok(());
        }
        if tokens.take_word("add") {
            tokens.take_words(&["if", "not", "exists"]);
            for column in added_columns(tokens)? {
                table.add(column)?;
            }
        } else if tokens.at_words("drop", "compact") || !tokens.take_word("drop") {
            return Err(tokens.expected("ADD, WITH or DROP of columns"));
        } else {
            tokens.take_words(&["if", "exists"]);
            let line = tokens.line();
            let dropped = tokens.list_in_brackets(column_name)?;
            let dropped_at_us = drop_time_us(tokens)?;
            for name in dropped {
                table.drop(&name, dropped_at_us, line)?;
            }
        }
        if tokens.at_end() {
            Ok(())
        } else {
            Err(tokens.expected("the end of the statement"))
        }
    }
}

/// Reads `column type, …`, with or without parentheses.
pub(super) fn added_columns(tokens: &mut TokenCursor<'_>) -> Result<Vec<ColumnDeclaration>> {
    tokens.list_in_brackets(|tokens| Ok(column(tokens)?.0))
}

/// Reads `[USING TIMESTAMP microseconds]`.
fn drop_time_us(tokens: &mut TokenCursor<'_>) -> Result<i64> {
    if !tokens.take_words(&["using", "timestamp"]) {
        return Ok(UNKNOWN_DROP_TIME_US);
    }
    let sign = if tokens.take_symbol('-') { "-" } else { "" };
    let time = match tokens.peek() {
        Some(TokenKind::Word(word)) => format!("{sign}{word}").parse().ok(),
        _ => None,
    };
    let time = time.ok_or_else(|| tokens.expected("a timestamp in microseconds"))?;
    tokens.advance();
    Ok(time)
}

impl TableDeclaration {
    fn add(&mut self, column: ColumnDeclaration) -> Result<()> {
        if self.live_column(&column.name).is_some() {
            let reason = format!("{} already exists", column.name);
            return Err(self.declared.error_at(column.line, &reason));
        }
        self.columns.push(column);
        Ok(())
    }

    fn drop(&mut self, name: &str, dropped_at_us: i64, line: usize) -> Result<()> {
        let place = self.live_column(name);
        let Some(column) = place.and_then(|place| self.columns.get_mut(place)) else {
            let reason = format!("{name} is not one of its columns");
            return Err(self.declared.error_at(line, &reason));
        };
        column.dropped_at_us = Some(dropped_at_us);
        Ok(())
    }
}
