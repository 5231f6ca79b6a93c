//! How the members of keys and values are written: as JSON, or in Avro's binary form.
//!
//! A layout says once which members there are, in the order of their schema (`schemas`); the text
//! between them is JSON's alone, and the marks of what is null are Avro's.

mod avro;
mod json;

pub(crate) use avro::Avro;
pub(crate) use json::Json;

use crate::bson::{Document, Element};
use crate::error::BsonError;
use crate::format::Encoding;
use crate::json::{Flavour, Spacing};

/// Appends what bytes it makes, or fails.
pub(crate) type Write<'w> = &'w mut dyn FnMut(&mut Vec<u8>) -> Result<(), BsonError>;

/// One key or value in the making.
pub(crate) trait Form {
    /// Brackets, commas and names of members.
    fn literal(&mut self, json: &[u8]);

    /// An optional member without a value.
    fn null(&mut self);

    /// The value of an optional member follows.
    fn there(&mut self);

    /// The value of an optional member follows that has a value by default.
    fn there_by_default(&mut self);

    fn text(&mut self, text: &[u8]);

    /// Text of ASCII that needs no escape.
    fn plain(&mut self, text: &str);

    fn number(&mut self, number: i64);

    /// A number that Java has in 32 bits with a sign.
    fn unsigned(&mut self, number: u32);

    fn boolean(&mut self, value: bool);

    /// A document as text.
    fn document(
        &mut self,
        document: Document<'_>,
        flavour: Flavour,
        spacing: Spacing,
    ) -> Result<(), BsonError>;

    /// A value as text.
    fn element(
        &mut self,
        element: &Element<'_>,
        flavour: Flavour,
        spacing: Spacing,
    ) -> Result<(), BsonError>;

    /// JSON that is no text of its own in JSON without a schema.
    fn nested(&mut self, write: Write<'_>) -> Result<(), BsonError>;

    /// Text that a schema does not let be null.
    fn text_or_null(&mut self, text: Option<&[u8]>);

    fn open_list(&mut self);

    /// One more element follows.
    fn next(&mut self, is_first: bool);

    fn close_list(&mut self);
}

/// The form of a key or a value that is seldom written.
pub(crate) fn form_of(encoding: Encoding, out: &mut Vec<u8>) -> Box<dyn Form + '_> {
    match encoding {
        Encoding::Avro => Box::new(Avro::new(out)),
        json => Box::new(Json::new(out, json)),
    }
}
