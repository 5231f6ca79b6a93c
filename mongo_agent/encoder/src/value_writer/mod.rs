//! Writes the members of keys and values, as JSON or in Avro's binary form.
//!
//! A layout lists its members once, in the order of their schema (`schemas`). Only JSON writes
//! literals, and only Avro writes union branches.

mod avro;
mod json;

pub(crate) use avro::AvroWriter;
pub(crate) use json::JsonWriter;

use crate::bson::{Document, Element};
use crate::error::Result;
use crate::format::Encoding;
use crate::json::Flavour;

/// A function that appends bytes or fails.
pub(crate) type Write<'w> = &'w mut dyn FnMut(&mut Vec<u8>) -> Result<()>;

/// Writes one key or value.
pub(crate) trait ValueWriter {
    /// Writes brackets, commas and names of members.
    fn literal(&mut self, json: &[u8]);

    /// Writes an optional member without a value.
    fn null(&mut self);

    /// Announces the value of an optional member.
    fn present(&mut self);

    /// Announces the value of an optional member with a default.
    fn present_by_default(&mut self);

    fn text(&mut self, text: &[u8]);

    /// Writes ASCII text that needs no escapes.
    fn plain(&mut self, text: &str);

    fn number(&mut self, number: i64);

    /// Writes a number that Java stores in a signed 32-bit integer.
    fn unsigned(&mut self, number: u32);

    fn boolean(&mut self, value: bool);

    /// Writes a document as a string.
    fn document(&mut self, document: Document<'_>, flavour: Flavour) -> Result<()>;

    /// Writes a value as a string.
    fn element(&mut self, element: &Element<'_>, flavour: Flavour) -> Result<()>;

    /// Writes JSON, which is a string if there is a schema and nested otherwise.
    fn nested(&mut self, write: Write<'_>) -> Result<()>;

    /// Writes a string; a missing string is empty if there is a schema, and null otherwise.
    fn text_or_null(&mut self, text: Option<&[u8]>);

    fn open_list(&mut self);

    /// Announces an element of a list.
    fn item(&mut self, is_first: bool);

    fn close_list(&mut self);
}

/// Returns a writer for an infrequent kind of key or value.
pub(crate) fn writer_for(encoding: Encoding, out: &mut Vec<u8>) -> Box<dyn ValueWriter + '_> {
    match encoding {
        Encoding::Avro => Box::new(AvroWriter::new(out)),
        json => Box::new(JsonWriter::new(out, json)),
    }
}
