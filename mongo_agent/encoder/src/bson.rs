//! Reads BSON in place: documents are slices, elements are read in order.
//!
//! No tree is built. Strings are not validated, because servers also store invalid UTF-8
//! (<https://bsonspec.org/spec.html>).

use serde::{Deserialize, Serialize};

use crate::error::{BsonError, Problem, Result};
use crate::swar::first_zero;

/// Maximum nesting depth; servers accept 100.
pub const MAX_DEPTH: usize = 200;

/// A document or an array, which is a document with indexes as names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'b> {
    /// From the length to the terminating zero.
    bytes: &'b [u8],
    /// Offset in the input.
    offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element<'b> {
    pub name: &'b [u8],
    pub value: Value<'b>,
    /// The bytes of the value.
    pub raw: &'b [u8],
    pub tag: u8,
    /// Offset of the value in the input.
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'b> {
    Double(f64),
    String(&'b [u8]),
    Document(Document<'b>),
    Array(Document<'b>),
    Binary {
        subtype: u8,
        bytes: &'b [u8],
    },
    Undefined,
    ObjectId(&'b [u8; 12]),
    Boolean(bool),
    /// Milliseconds since 1970.
    DateTime(i64),
    Null,
    Regex {
        pattern: &'b [u8],
        options: &'b [u8],
    },
    DbPointer {
        namespace: &'b [u8],
        id: &'b [u8; 12],
    },
    Code(&'b [u8]),
    Symbol(&'b [u8]),
    CodeWithScope {
        code: &'b [u8],
        scope: Document<'b>,
    },
    Int32(i32),
    Timestamp(Timestamp),
    Int64(i64),
    Decimal128(u128),
    MinKey,
    MaxKey,
}

/// A cluster time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Timestamp {
    pub seconds: u32,
    pub increment: u32,
}

impl From<(u32, u32)> for Timestamp {
    fn from((seconds, increment): (u32, u32)) -> Self {
        Self { seconds, increment }
    }
}

impl From<Timestamp> for (u32, u32) {
    fn from(time: Timestamp) -> Self {
        (time.seconds, time.increment)
    }
}

impl<'b> Document<'b> {
    /// Parses a document that spans all the bytes.
    pub fn parse(bytes: &'b [u8]) -> Result<Self> {
        let mut cursor = Cursor {
            bytes,
            position: 0,
            base: 0,
        };
        let document = cursor.read_document()?;
        match cursor.left() {
            0 => Ok(document),
            extra => Err(Problem::Extra { extra }.at_offset(cursor.position)),
        }
    }

    pub fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Rejects a document at this depth, which includes the document, if it is too deep.
    pub(crate) fn check_depth(&self, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Problem::Depth { limit: MAX_DEPTH }.at_offset(self.offset));
        }
        Ok(())
    }

    /// Returns the first element with this name.
    pub fn find(&self, name: &[u8]) -> Result<Option<Element<'b>>> {
        let mut elements = self.elements();
        while let Some(element) = elements.read()? {
            if element.name == name {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }

    pub fn elements(&self) -> Elements<'b> {
        let end = self.bytes.len().saturating_sub(1);
        Elements {
            cursor: Cursor {
                bytes: self.bytes.get(..end).unwrap_or_default(),
                position: 4,
                base: self.offset,
            },
        }
    }
}

/// The elements of a document, up to the first invalid element.
#[derive(Debug, Clone)]
pub struct Elements<'b> {
    cursor: Cursor<'b>,
}

impl<'b> Elements<'b> {
    #[inline]
    pub fn read(&mut self) -> Result<Option<Element<'b>>> {
        if self.cursor.left() == 0 {
            return Ok(None);
        }
        self.cursor.read_element().map(Some)
    }
}

/// The only reader of bytes; every access is checked.
#[derive(Debug, Clone)]
struct Cursor<'b> {
    bytes: &'b [u8],
    position: usize,
    /// Offset of `bytes` in the input.
    base: usize,
}

impl<'b> Cursor<'b> {
    #[inline]
    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    fn offset(&self) -> usize {
        self.base.saturating_add(self.position)
    }

    #[inline]
    fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        match self.rest().get(..count) {
            Some(taken) => {
                self.position = self.position.saturating_add(count);
                Ok(taken)
            }
            None => Err(self.too_short(count)),
        }
    }

    #[inline]
    fn take_array<const N: usize>(&mut self) -> Result<&'b [u8; N], BsonError> {
        match self.rest().first_chunk::<N>() {
            Some(taken) => {
                self.position = self.position.saturating_add(N);
                Ok(taken)
            }
            None => Err(self.too_short(N)),
        }
    }

    #[cold]
    fn too_short(&self, needed: usize) -> BsonError {
        let left = self.left();
        Problem::TooShort { needed, left }.at_offset(self.offset())
    }

    #[inline]
    fn read_i32(&mut self) -> Result<i32> {
        Ok(i32::from_le_bytes(*self.take_array()?))
    }

    #[inline]
    fn read_i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(*self.take_array()?))
    }

    /// Reads up to a zero byte, which the result excludes.
    #[inline]
    fn read_name(&mut self) -> Result<&'b [u8]> {
        let rest = self.rest();
        match first_zero(rest) {
            Some(length) => {
                self.position = self.position.saturating_add(length).saturating_add(1);
                Ok(rest.get(..length).unwrap_or_default())
            }
            None => Err(Problem::NameEnd.at_offset(self.offset())),
        }
    }

    #[inline]
    fn read_text(&mut self) -> Result<&'b [u8]> {
        let start = self.offset();
        let length = self.read_i32()?;
        let whole = usize::try_from(length).ok().filter(|whole| {
            // The length includes the zero byte.
            (1..=self.left()).contains(whole)
        });
        let Some(whole) = whole else {
            return Err(Problem::TextLength { length }.at_offset(start));
        };
        match self.take(whole)? {
            [text @ .., 0] => Ok(text),
            _ => Err(Problem::TextEnd.at_offset(start)),
        }
    }

    #[inline]
    fn read_document(&mut self) -> Result<Document<'b>> {
        let offset = self.offset();
        let rest = self.rest();
        let Some(length) = rest.first_chunk::<4>() else {
            return Err(self.too_short(4));
        };
        let length = i32::from_le_bytes(*length);
        let whole = usize::try_from(length).ok().filter(|whole| *whole >= 5);
        let Some(bytes) = whole.and_then(|whole| rest.get(..whole)) else {
            return Err(Problem::DocumentLength { length }.at_offset(offset));
        };
        if bytes.last() != Some(&0) {
            return Err(Problem::DocumentEnd.at_offset(offset));
        }
        self.position = self.position.saturating_add(bytes.len());
        Ok(Document { bytes, offset })
    }

    fn read_binary(&mut self) -> Result<Value<'b>> {
        const OLD: u8 = 2;
        let start = self.offset();
        let length = self.read_i32()?;
        let [subtype] = *self.take_array()?;
        let wrong = || Problem::BinaryLength { length }.at_offset(start);
        let count = usize::try_from(length).map_err(|_| wrong())?;
        if count > self.left() {
            return Err(wrong());
        }
        let bytes = self.take(count)?;
        if subtype != OLD {
            return Ok(Value::Binary { subtype, bytes });
        }
        // The old subtype repeats its length.
        let (inner, bytes) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
        let inner = usize::try_from(i32::from_le_bytes(*inner));
        if inner == Ok(bytes.len()) {
            Ok(Value::Binary { subtype, bytes })
        } else {
            Err(wrong())
        }
    }

    fn read_code_with_scope(&mut self) -> Result<Value<'b>> {
        let (start, first) = (self.offset(), self.position);
        let length = self.read_i32()?;
        let code = self.read_text()?;
        let scope = self.read_document()?;
        if usize::try_from(length) == Ok(self.position.saturating_sub(first)) {
            Ok(Value::CodeWithScope { code, scope })
        } else {
            Err(Problem::CodeLength { length }.at_offset(start))
        }
    }

    #[inline]
    fn read_element(&mut self) -> Result<Element<'b>> {
        let tag_offset = self.offset();
        let [tag] = *self.take_array()?;
        let name = self.read_name()?;
        let (offset, first) = (self.offset(), self.position);
        let value = match tag {
            0x01 => Value::Double(f64::from_le_bytes(*self.take_array()?)),
            0x02 => Value::String(self.read_text()?),
            0x03 => Value::Document(self.read_document()?),
            0x04 => Value::Array(self.read_document()?),
            0x05 => self.read_binary()?,
            0x06 => Value::Undefined,
            0x07 => Value::ObjectId(self.take_array()?),
            0x08 => match *self.take_array()? {
                [0] => Value::Boolean(false),
                [1] => Value::Boolean(true),
                [value] => return Err(Problem::Boolean { value }.at_offset(offset)),
            },
            0x09 => Value::DateTime(self.read_i64()?),
            0x0a => Value::Null,
            0x0b => Value::Regex {
                pattern: self.read_name()?,
                options: self.read_name()?,
            },
            0x0c => Value::DbPointer {
                namespace: self.read_text()?,
                id: self.take_array()?,
            },
            0x0d => Value::Code(self.read_text()?),
            0x0e => Value::Symbol(self.read_text()?),
            0x0f => self.read_code_with_scope()?,
            0x10 => Value::Int32(self.read_i32()?),
            0x11 => Value::Timestamp(Timestamp {
                increment: u32::from_le_bytes(*self.take_array()?),
                seconds: u32::from_le_bytes(*self.take_array()?),
            }),
            0x12 => Value::Int64(self.read_i64()?),
            0x13 => Value::Decimal128(u128::from_le_bytes(*self.take_array()?)),
            0x7f => Value::MaxKey,
            0xff => Value::MinKey,
            tag => return Err(Problem::Type { tag }.at_offset(tag_offset)),
        };
        Ok(Element {
            name,
            value,
            raw: self.bytes.get(first..self.position).unwrap_or_default(),
            tag,
            offset,
        })
    }
}
