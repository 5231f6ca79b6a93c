//! A position in a list of tokens, with the operations for statement readers.

use super::token::{Token, TokenKind};
use super::{Result, SchemaError};

/// Walks over tokens; every `expect_…` error contains the expected and the actual token.
pub(super) struct TokenCursor<'a> {
    tokens: &'a [Token<'a>],
    position: usize,
}

impl<'a> TokenCursor<'a> {
    pub fn new(tokens: &'a [Token<'a>]) -> Self {
        Self {
            tokens,
            position: 0,
        }
    }

    pub fn peek(&self) -> Option<&'a TokenKind<'a>> {
        self.tokens.get(self.position).map(|token| &token.kind)
    }

    fn peek_second(&self) -> Option<&'a TokenKind<'a>> {
        self.tokens.get(self.position + 1).map(|token| &token.kind)
    }

    /// Consumes one token.
    pub fn advance(&mut self) -> Option<&'a TokenKind<'a>> {
        let token = self.peek()?;
        self.position += 1;
        Some(token)
    }

    pub fn at_end(&self) -> bool {
        self.position >= self.tokens.len()
    }

    /// Returns the line of the current token, or of the last token at the end; 0 without tokens.
    pub fn line(&self) -> usize {
        self.tokens
            .get(self.position)
            .or(self.tokens.last())
            .map_or(0, |token| token.line)
    }

    /// Returns the error "expected … , found …" at the current token.
    pub fn expected(&self, wanted: &str) -> SchemaError {
        let found = match self.peek() {
            Some(token) => token.to_string(),
            None => "the end".to_owned(),
        };
        self.error(format!("expected {wanted}, found {found}"))
    }

    pub fn error(&self, reason: String) -> SchemaError {
        SchemaError::Syntax {
            line: self.line(),
            reason,
        }
    }

    /// Whether the current token is this unquoted word; case does not matter.
    pub fn at_word(&self, word: &str) -> bool {
        is_word(self.peek(), word)
    }

    /// Whether these two unquoted words come next.
    pub fn at_words(&self, first: &str, second: &str) -> bool {
        self.at_word(first) && is_word(self.peek_second(), second)
    }

    pub fn at_any_word(&self) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(_)))
    }

    pub fn at_symbol(&self, symbol: char) -> bool {
        self.peek() == Some(&TokenKind::Symbol(symbol))
    }

    /// Whether an unquoted word comes next, and this symbol after it.
    pub fn at_word_before(&self, symbol: char) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(_)))
            && self.peek_second() == Some(&TokenKind::Symbol(symbol))
    }

    /// Consumes the unquoted word if it comes next.
    pub fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.position += usize::from(found);
        found
    }

    /// Consumes these unquoted words if all of them come next, otherwise none.
    pub fn take_words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(offset, word)| {
            let token = self.tokens.get(self.position + offset);
            is_word(token.map(|token| &token.kind), word)
        });
        self.position += if found { words.len() } else { 0 };
        found
    }

    pub fn take_symbol(&mut self, symbol: char) -> bool {
        let found = self.at_symbol(symbol);
        self.position += usize::from(found);
        found
    }

    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(self.expected(&word.to_uppercase()))
        }
    }

    pub fn expect_symbol(&mut self, symbol: char) -> Result<()> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    /// Reads a name: converts unquoted words to lower case and leaves quoted names unchanged.
    pub fn expect_name(&mut self, wanted: &str) -> Result<String> {
        let name = match self.peek() {
            Some(TokenKind::Word(word)) => word.to_lowercase(),
            Some(TokenKind::QuotedName(name)) => name.clone(),
            _ => return Err(self.expected(wanted)),
        };
        self.position += 1;
        Ok(name)
    }

    /// Reads one or more elements between commas.
    pub fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut elements = vec![read(self)?];
        while self.take_symbol(',') {
            elements.push(read(self)?);
        }
        Ok(elements)
    }

    /// Reads the elements of [`Self::list`], with or without parentheses around them.
    pub fn list_in_brackets<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let in_brackets = self.take_symbol('(');
        let elements = self.list(read)?;
        if in_brackets {
            self.expect_symbol(')')?;
        }
        Ok(elements)
    }

    /// Reads `[IF [NOT] EXISTS] [keyspace.]name`.
    pub fn qualified_name(&mut self, wanted: &str) -> Result<(Option<String>, String)> {
        self.take_words(&["if", "not", "exists"]);
        self.take_words(&["if", "exists"]);
        let first = self.expect_name(wanted)?;
        if self.take_symbol('.') {
            Ok((Some(first), self.expect_name(wanted)?))
        } else {
            Ok((None, first))
        }
    }

    /// Advances to the first token outside all brackets where `stop` returns true, or to the end.
    pub fn skip_until(&mut self, stop: impl Fn(&Self) -> bool) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            if depth == 0 && stop(self) {
                return;
            }
            match token {
                TokenKind::Symbol('(' | '[' | '{') => depth += 1,
                TokenKind::Symbol(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.position += 1;
        }
    }

    /// Advances to the end of a type: to a `,` or an unmatched closing bracket.
    pub fn skip_type(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                TokenKind::Symbol('<') => depth += 1,
                TokenKind::Symbol('>') if depth > 0 => depth -= 1,
                TokenKind::Symbol('>' | ',' | ')') if depth == 0 => return,
                _ => {}
            }
            self.position += 1;
        }
    }
}

fn is_word(token: Option<&TokenKind<'_>>, word: &str) -> bool {
    matches!(token, Some(TokenKind::Word(found)) if found.eq_ignore_ascii_case(word))
}
