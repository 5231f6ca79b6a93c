//! Writes outbox keys and payloads with converters that do not write JSON.

use super::fields::Content;
use super::text_form::plain_text;
use crate::bson::Value;
use crate::error::{Problem, Result};

/// A converter of Kafka Connect for the keys or the payloads of an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutboxConverter {
    /// The encoding of other messages.
    #[default]
    Encoding,
    /// `StringConverter`: text without quotes.
    Text,
    /// `ByteArrayConverter`: binaries unchanged; rejects other values except null.
    Bytes,
    /// `BinaryDataConverter`: binaries unchanged; the encoding writes other values.
    BytesOrEncoding,
}

/// What a converter wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Value,
    /// Nothing: the value is null.
    Null,
    /// Nothing: the encoding writes the value.
    ByEncoding,
}

impl OutboxConverter {
    /// Appends the content of a field.
    pub(super) fn write(
        self,
        out: &mut Vec<u8>,
        content: &Content<'_>,
        field: &str,
    ) -> Result<Written> {
        match (self, content) {
            (Self::Bytes | Self::BytesOrEncoding, Content::Value(Value::Binary { bytes, .. })) => {
                out.extend_from_slice(bytes);
            }
            (Self::Encoding | Self::BytesOrEncoding, _) => return Ok(Written::ByEncoding),
            (_, Content::Value(Value::Null | Value::Undefined)) => return Ok(Written::Null),
            (Self::Bytes, _) => {
                let field = field.to_owned();
                return Err(Problem::OutboxBinary { field }.at_offset(0));
            }
            (Self::Text, Content::Text(text)) => write_valid(out, text),
            (Self::Text, Content::Value(value)) => write_valid(out, &plain_text(value)?),
            (Self::Text, Content::Flag(_) | Content::Member(_)) => {}
        }
        Ok(Written::Value)
    }
}

/// Writes text in which U+FFFD replaces invalid UTF-8, as in Java's strings.
fn write_valid(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(String::from_utf8_lossy(text).as_bytes());
}
