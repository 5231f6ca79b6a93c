//! Parses Cassandra's Java class names into types, like `TypeParser`.

use std::sync::Arc;

use super::opaque::opaque;
use super::{Result, SchemaError};
use crate::cql_type::{CqlType, UserType, UserTypeField};
use crate::descriptor::bytes_of_hex;

/// Types that are nested more deeply are opaque, so that no text can exhaust the stack.
pub(super) const NESTING_LIMIT: usize = 64;

/// The package of Cassandra's types; class names without a package belong to it.
pub(super) const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// Reads a class name with its parameters; returns the type and whether a column of this type is
/// stored cell by cell.
///
/// A class without a CQL type becomes [`CqlType::Custom`] with its full text.
pub(super) fn parse(text: &str, line: usize) -> Result<(CqlType, bool)> {
    let mut reader = ClassReader {
        text,
        rest: text,
        line,
    };
    let parsed = reader.class(0)?;
    if reader.rest.trim_start().is_empty() {
        Ok(parsed)
    } else {
        Err(reader.expected("the end of the class name"))
    }
}

/// Whether a text is a class name rather than a CQL type.
pub(super) fn is_class_name(text: &str) -> bool {
    text.starts_with("org.apache.cassandra.")
}

struct ClassReader<'a> {
    text: &'a str,
    rest: &'a str,
    line: usize,
}

impl<'a> ClassReader<'a> {
    fn class(&mut self, depth: usize) -> Result<(CqlType, bool)> {
        self.skip_blank();
        let start = self.rest;
        let class = self.identifier("a class name")?;
        if depth > NESTING_LIMIT {
            self.skip_parameters()?;
            return Ok((opaque(), false));
        }
        let short = class.strip_prefix(PACKAGE).unwrap_or(class);
        if let Some(cql_type) = CqlType::from_class_name(short) {
            return Ok((cql_type, false));
        }
        Ok(match short {
            "ReversedType" => self.only(depth)?,
            "FrozenType" => (self.only(depth)?.0, false),
            "ListType" => (CqlType::List(self.only(depth)?.0.into()), true),
            "SetType" => (CqlType::Set(self.only(depth)?.0.into()), true),
            "MapType" => {
                self.expect('(')?;
                let key = self.class(depth + 1)?.0;
                self.expect(',')?;
                let value = self.class(depth + 1)?.0;
                self.expect(')')?;
                (CqlType::Map(key.into(), value.into()), true)
            }
            "TupleType" => {
                self.expect('(')?;
                let mut elements = vec![self.class(depth + 1)?.0];
                while self.take(',') {
                    elements.push(self.class(depth + 1)?.0);
                }
                self.expect(')')?;
                (CqlType::Tuple(elements), false)
            }
            "VectorType" => {
                self.expect('(')?;
                let element = self.class(depth + 1)?.0;
                self.expect(',')?;
                let positive = |digits: &str| digits.parse().ok().filter(|n| *n > 0);
                let dimension = self.parsed("the dimension of the vector", positive)?;
                self.expect(')')?;
                (CqlType::Vector(element.into(), dimension), false)
            }
            "UserType" => (CqlType::Udt(Arc::new(self.user_type(depth)?)), true),
            _ => {
                self.skip_parameters()?;
                let length = start.len() - self.rest.len();
                let written = start.get(..length).unwrap_or_default().trim_end();
                let package = if class.contains('.') { "" } else { PACKAGE };
                (CqlType::Custom(format!("{package}{written}")), false)
            }
        })
    }

    /// Reads `(type)`.
    fn only(&mut self, depth: usize) -> Result<(CqlType, bool)> {
        self.expect('(')?;
        let parsed = self.class(depth + 1)?;
        self.expect(')')?;
        Ok(parsed)
    }

    /// Reads `(keyspace,hex of the name,hex of a field:type,…)`.
    fn user_type(&mut self, depth: usize) -> Result<UserType> {
        self.expect('(')?;
        let keyspace = self.identifier("a keyspace")?.to_owned();
        self.expect(',')?;
        let name = self.hex_name()?;
        let mut fields = Vec::new();
        while self.take(',') {
            let name = self.hex_name()?;
            self.expect(':')?;
            let cql_type = self.class(depth + 1)?.0;
            fields.push(UserTypeField { name, cql_type });
        }
        self.expect(')')?;
        Ok(UserType {
            keyspace,
            name,
            fields,
        })
    }

    fn hex_name(&mut self) -> Result<String> {
        self.parsed("a name as hexadecimal UTF-8", |hex| {
            String::from_utf8(bytes_of_hex(hex)?).ok()
        })
    }

    /// Reads an identifier and parses it.
    fn parsed<T>(&mut self, wanted: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        self.skip_blank();
        let before = self.rest;
        let identifier = self.identifier(wanted)?;
        parse(identifier).ok_or_else(|| {
            self.rest = before;
            self.expected(wanted)
        })
    }

    /// Skips the balanced parameters of a class.
    fn skip_parameters(&mut self) -> Result<()> {
        if !self.rest.trim_start().starts_with('(') {
            return Ok(());
        }
        let mut depth = 0_usize;
        for (position, c) in self.rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                self.rest = self.rest.get(position + 1..).unwrap_or_default();
                return Ok(());
            }
        }
        self.rest = "";
        Err(self.expected("`)`"))
    }

    /// `TypeParser` counts letters, digits and `-+._&` as parts of an identifier.
    fn identifier(&mut self, wanted: &str) -> Result<&'a str> {
        self.skip_blank();
        let rest = self.rest;
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || "-+._&".contains(c)))
            .unwrap_or(rest.len());
        let (identifier, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if identifier.is_empty() {
            return Err(self.expected(wanted));
        }
        self.rest = after;
        Ok(identifier)
    }

    fn take(&mut self, symbol: char) -> bool {
        self.skip_blank();
        let after = self.rest.strip_prefix(symbol);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expected(&self, wanted: &str) -> SchemaError {
        let position = self.text.len() - self.rest.len();
        SchemaError::Syntax {
            line: self.line,
            reason: format!(
                "type class '{}': expected {wanted} at byte {position}",
                self.text
            ),
        }
    }
}
