//! Writes the members of keys and values, as JSON or in Avro's binary form.
//!
//! A layout lists its members once, in the order of their schema (`schemas`). Literals are written
//! by JSON only, union branches by Avro only.

mod avro;
mod json;

pub(crate) use avro::AvroWriter;
pub(crate) use json::JsonWriter;

use crate::bson::{Document, Element};
use crate::error::Result;
use crate::format::Encoding;
use crate::json::Flavour;

/// Appends bytes, or fails.
pub(crate) type Write<'w> = &'w mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// Writes one key or value.
pub(crate) trait ValueWriter {
    /// Brackets, commas and names of members.
    fn literal(&mut self, json: &[u8]);

    /// An optional member without a value.
    fn null(&mut self);

    /// The value of an optional member follows.
    fn present(&mut self);

    /// The value of an optional member with a default follows.
    fn present_by_default(&mut self);

    fn text(&mut self, text: &[u8]);

    /// ASCII text without escapes.
    fn plain(&mut self, text: &str);

    fn number(&mut self, number: i64);

    /// A number that Java stores in a signed 32-bit integer.
    fn unsigned(&mut self, number: u32);

    fn boolean(&mut self, value: bool);

    /// A document as a string.
    fn document(&mut self, document: Document<'_>, flavour: Flavour) -> Result<()>;

    /// A value as a string.
    fn element(&mut self, element: &Element<'_>, flavour: Flavour) -> Result<()>;

    /// JSON that is nested without a schema, and a string with one.
    fn nested(&mut self, write: Write<'_>) -> Result<()>;

    /// A string that the schema requires.
    fn text_or_null(&mut self, text: Option<&[u8]>);

    fn open_list(&mut self);

    /// An element of a list follows.
    fn item(&mut self, is_first: bool);

    fn close_list(&mut self);
}

/// The writer of a rare key or value.
pub(crate) fn writer_for(encoding: Encoding, out: &mut Vec<u8>) -> Box<dyn ValueWriter + '_> {
    match encoding {
        Encoding::Avro => Box::new(AvroWriter::new(out)),
        json => Box::new(JsonWriter::new(out, json)),
    }
}
