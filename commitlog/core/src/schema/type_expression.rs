//! CQL types as written, before their user types are resolved.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::marshal_class::NESTING_LIMIT;
use super::marshal_name::marshal_name;
use super::opaque::opaque;
use super::token::{TokenKind, tokens};
use super::token_cursor::TokenCursor;
use super::{Result, marshal_class};
use crate::cql_type::CqlType;

/// A type as written; [`super::UserTypes`] resolves the names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeExpression {
    /// A type that needs no resolution: a native type or a Java class; and whether a column of it
    /// is stored cell by cell.
    Known(CqlType, bool),
    /// A user type, optionally with its keyspace.
    User {
        keyspace: Option<String>,
        name: String,
        line: Line,
    },
    Frozen(Box<TypeExpression>),
    List(Box<TypeExpression>),
    Set(Box<TypeExpression>),
    Map(Box<TypeExpression>, Box<TypeExpression>),
    Tuple(Vec<TypeExpression>),
    Vector(Box<TypeExpression>, u32),
}

/// A line in a text, only for errors: expressions are equal regardless of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line(pub usize);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Line {}

/// Reads a type from a text that contains nothing else.
pub(super) fn expression(text: &str) -> Result<TypeExpression> {
    if marshal_class::is_class_name(text.trim_start()) {
        let (cql_type, multi_cell) = marshal_class::parse(text, 1)?;
        return Ok(TypeExpression::Known(cql_type, multi_cell));
    }
    let tokens = tokens(text)?;
    let mut cursor = TokenCursor::new(&tokens);
    let expression = TypeExpression::parse(&mut cursor)?;
    if cursor.at_end() {
        Ok(expression)
    } else {
        Err(cursor.expected("the end of the type"))
    }
}

impl TypeExpression {
    /// Reads a type from tokens and moves the cursor past it.
    pub fn parse(tokens: &mut TokenCursor<'_>) -> Result<Self> {
        Self::parse_nested(tokens, 0)
    }

    fn parse_nested(tokens: &mut TokenCursor<'_>, depth: usize) -> Result<Self> {
        if depth > NESTING_LIMIT {
            tokens.skip_type();
            return Ok(Self::Known(opaque(), false));
        }
        if let Some(TokenKind::Literal(class)) = tokens.peek() {
            let (cql_type, multi_cell) = marshal_class::parse(class, tokens.line())?;
            tokens.advance();
            return Ok(Self::Known(cql_type, multi_cell));
        }
        if tokens.at_word_before('<') {
            return Self::parse_parametrised(tokens, depth);
        }
        let bare = matches!(tokens.peek(), Some(TokenKind::Word(_)));
        let line = Line(tokens.line());
        let name = tokens.expect_name("a type")?;
        if tokens.take_symbol('.') {
            return Ok(Self::User {
                keyspace: Some(name),
                name: tokens.expect_name("the name of a user type")?,
                line,
            });
        }
        Ok(match CqlType::from_cql_name(&name) {
            Some(cql_type) if bare => Self::Known(cql_type, false),
            _ => Self::User {
                keyspace: None,
                name,
                line,
            },
        })
    }

    /// Reads `word<…>`.
    fn parse_parametrised(tokens: &mut TokenCursor<'_>, depth: usize) -> Result<Self> {
        const KINDS: [&str; 6] = ["frozen", "list", "set", "map", "tuple", "vector"];
        if !KINDS.iter().any(|kind| tokens.at_word(kind)) {
            return Err(tokens.expected("frozen, list, set, map, tuple or vector before `<`"));
        }
        let kind = tokens.expect_name("a type")?;
        tokens.expect_symbol('<')?;
        let first = Box::new(Self::parse_nested(tokens, depth + 1)?);
        let parsed = match kind.as_str() {
            "frozen" => Self::Frozen(first),
            "list" => Self::List(first),
            "set" => Self::Set(first),
            "map" => {
                tokens.expect_symbol(',')?;
                Self::Map(first, Box::new(Self::parse_nested(tokens, depth + 1)?))
            }
            "tuple" => {
                let mut elements = vec![*first];
                while tokens.take_symbol(',') {
                    elements.push(Self::parse_nested(tokens, depth + 1)?);
                }
                Self::Tuple(elements)
            }
            _ => {
                tokens.expect_symbol(',')?;
                Self::Vector(first, dimension(tokens)?)
            }
        };
        tokens.expect_symbol('>')?;
        Ok(parsed)
    }
}

/// Formats the type as text for [`TypeExpression::parse`], with classes as literals.
impl std::fmt::Display for TypeExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match self {
            Self::Known(cql_type, multi_cell) => {
                write!(f, "'{}'", marshal_name(cql_type, *multi_cell, false))
            }
            Self::User {
                keyspace: Some(keyspace),
                name,
                ..
            } => write!(f, "{}.{}", quoted(keyspace), quoted(name)),
            Self::User { name, .. } => f.write_str(&quoted(name)),
            Self::Frozen(inner) => write!(f, "frozen<{inner}>"),
            Self::List(element) => write!(f, "list<{element}>"),
            Self::Set(element) => write!(f, "set<{element}>"),
            Self::Map(key, value) => write!(f, "map<{key},{value}>"),
            Self::Tuple(elements) => {
                f.write_str("tuple<")?;
                for (index, element) in elements.iter().enumerate() {
                    let separator = if index > 0 { "," } else { "" };
                    write!(f, "{separator}{element}")?;
                }
                f.write_str(">")
            }
            Self::Vector(element, dimension) => write!(f, "vector<{element},{dimension}>"),
        }
    }
}

/// An expression is stored as its text.
impl Serialize for TypeExpression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TypeExpression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        expression(&text).map_err(|error| D::Error::custom(error.reason()))
    }
}

fn dimension(tokens: &mut TokenCursor<'_>) -> Result<u32> {
    let dimension = match tokens.peek() {
        Some(TokenKind::Word(word)) => word.parse().ok().filter(|n| *n > 0),
        _ => None,
    };
    let dimension = dimension.ok_or_else(|| tokens.expected("the dimension of the vector"))?;
    tokens.advance();
    Ok(dimension)
}
