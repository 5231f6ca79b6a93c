//! Splits CQL text into tokens with line numbers.

use super::{Result, SchemaError};

/// `DESCRIBE` puts tables of the legacy API, including all COMPACT STORAGE tables, into a comment
/// after this line (`CompactTableMetadata#appendCqlTo`). Their updates are also in the commit log,
/// so the statements are read.
const REFERENCE_STRUCTURE: &str = "(this should not be used to reproduce this schema)";

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// An unquoted word or number; case does not matter.
    Word(&'a str),
    /// An unquoted UUID.
    Uuid(&'a str),
    /// A name in double quotes, unescaped.
    QuotedName(String),
    /// A string literal in single quotes or between `$$`, unescaped.
    Literal(String),
    Symbol(char),
}

/// A token and the 1-based line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub line: usize,
}

impl std::fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(text) | Self::Uuid(text) => write!(f, "`{text}`"),
            Self::QuotedName(name) => write!(f, "`\"{name}\"`"),
            Self::Literal(text) => {
                let start: String = text.chars().take(40).collect();
                write!(f, "the string '{start}'")
            }
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
        }
    }
}

/// A token takes 40 bytes, and each byte can be a token. A table with 2,000 columns has 10,000.
const MOST_TOKENS: usize = 2 << 20;

/// Splits CQL text into tokens, without comments.
///
/// # Errors
/// [`SchemaError::Syntax`] for an unterminated string, quoted name or comment, with its first line,
/// and for more than [`MOST_TOKENS`] tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    Ok(Lexer::new(text).tokens(None)?.0)
}

/// Returns the tokens of each statement, without the `;`. It holds one statement at a time.
///
/// # Errors
/// The errors of [`tokens`]; do not continue after an error.
pub(super) fn statements(text: &str) -> impl Iterator<Item = Result<Vec<Token<'_>>>> {
    let mut lexer = Lexer::new(text);
    std::iter::from_fn(move || match lexer.tokens(Some(';')) {
        Ok((tokens, false)) if tokens.is_empty() => None,
        found => Some(found.map(|(tokens, _)| tokens)),
    })
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    in_reference_structure: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
            in_reference_structure: false,
        }
    }

    /// Consumes and returns the tokens up to the next `end`, or all; and whether `end` was found.
    fn tokens(&mut self, end: Option<char>) -> Result<(Vec<Token<'a>>, bool)> {
        let mut tokens = Vec::new();
        while let Some(token) = self.token()? {
            if matches!(token.kind, TokenKind::Symbol(symbol) if Some(symbol) == end) {
                return Ok((tokens, true));
            }
            if tokens.len() == MOST_TOKENS {
                let reason = format!("a statement has more than {MOST_TOKENS} words and symbols");
                let line = token.line;
                return Err(SchemaError::Syntax { line, reason });
            }
            tokens.push(token);
        }
        Ok((tokens, false))
    }

    /// Returns the next token, or `None` at the end of the text.
    fn token(&mut self) -> Result<Option<Token<'a>>> {
        while self.skip_blank_or_comment()? {}
        let line = self.line;
        let Some(first) = self.rest.chars().next() else {
            return Ok(None);
        };
        let kind = match first {
            '"' => TokenKind::QuotedName(self.read_quoted('"', "name in double quotes")?),
            '\'' => TokenKind::Literal(self.read_quoted('\'', "string in single quotes")?),
            '$' if self.rest.starts_with("$$") => TokenKind::Literal(self.between_dollars()?),
            _ if is_word_char(first) => self.word_or_uuid(),
            _ => {
                self.advance(first.len_utf8());
                TokenKind::Symbol(first)
            }
        };
        Ok(Some(Token { kind, line }))
    }

    /// Skips one run of white space or one comment; returns false if there is neither.
    fn skip_blank_or_comment(&mut self) -> Result<bool> {
        let blank = self.rest.len() - self.rest.trim_start().len();
        if blank > 0 {
            self.advance(blank);
        } else if self.rest.starts_with('\u{feff}') {
            self.advance('\u{feff}'.len_utf8());
        } else if self.rest.starts_with("--") || self.rest.starts_with("//") {
            self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.in_reference_structure && self.rest.starts_with("*/") {
            self.in_reference_structure = false;
            self.advance(2);
        } else if self.rest.starts_with("/*") {
            let Some(length) = self.rest.find("*/") else {
                return Err(self.unterminated("comment"));
            };
            let comment = self.rest.get(..length).unwrap_or_default();
            match comment.find(REFERENCE_STRUCTURE) {
                Some(position) => {
                    self.in_reference_structure = true;
                    self.advance(position + REFERENCE_STRUCTURE.len());
                }
                None => self.advance(length + 2),
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads the text between two quotes; a doubled quote stands for one quote.
    fn read_quoted(&mut self, quote: char, kind: &str) -> Result<String> {
        let mut unescaped = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((position, c)) = chars.next() {
            if c != quote {
                unescaped.push(c);
            } else if chars.next_if(|(_, next)| *next == quote).is_some() {
                unescaped.push(quote);
            } else {
                self.advance(position + quote.len_utf8());
                return Ok(unescaped);
            }
        }
        Err(self.unterminated(kind))
    }

    fn between_dollars(&mut self) -> Result<String> {
        let body = self.rest.get(2..).unwrap_or_default();
        let Some(length) = body.find("$$") else {
            return Err(self.unterminated("string between $$"));
        };
        let literal = body.get(..length).unwrap_or_default().to_owned();
        self.advance(length + 4);
        Ok(literal)
    }

    fn word_or_uuid(&mut self) -> TokenKind<'a> {
        let text = self.rest;
        let word_length = text.find(|c| !is_word_char(c)).unwrap_or(text.len());
        let uuid = text.get(..36).filter(|uuid| is_uuid(uuid));
        if let Some(uuid) = uuid {
            self.advance(uuid.len());
            TokenKind::Uuid(uuid)
        } else {
            self.advance(word_length);
            TokenKind::Word(text.get(..word_length).unwrap_or_default())
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
    }

    fn unterminated(&self, kind: &str) -> SchemaError {
        SchemaError::Syntax {
            line: self.line,
            reason: format!("the {kind} that starts here has no end"),
        }
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_uuid(text: &str) -> bool {
    text.char_indices().all(|(position, c)| match position {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    })
}
