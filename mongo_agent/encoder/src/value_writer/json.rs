//! Writes members as JSON.

use super::{ValueWriter, Write};
use crate::bson::{Document, Element};
use crate::error::Result;
use crate::format::Encoding;
use crate::json::{Flavour, write_document_in_string, write_text, write_value_in_string};

pub(crate) struct JsonWriter<'o> {
    out: &'o mut Vec<u8>,
    has_schema: bool,
}

impl<'o> JsonWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>, encoding: Encoding) -> Self {
        Self {
            out,
            has_schema: encoding == Encoding::JsonWithSchema,
        }
    }
}

impl ValueWriter for JsonWriter<'_> {
    #[inline]
    fn literal(&mut self, json: &[u8]) {
        self.out.extend_from_slice(json);
    }

    #[inline]
    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    #[inline]
    fn present(&mut self) {}

    #[inline]
    fn present_by_default(&mut self) {}

    #[inline]
    fn text(&mut self, text: &[u8]) {
        write_text(self.out, text);
    }

    #[inline]
    fn plain(&mut self, text: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    #[inline]
    fn number(&mut self, number: i64) {
        let mut digits = itoa::Buffer::new();
        self.out.extend_from_slice(digits.format(number).as_bytes());
    }

    #[inline]
    fn unsigned(&mut self, number: u32) {
        self.number(i64::from(number));
    }

    fn boolean(&mut self, value: bool) {
        self.literal(if value { b"true" } else { b"false" });
    }

    #[inline]
    fn document(&mut self, document: Document<'_>, flavour: Flavour) -> Result<()> {
        self.out.push(b'"');
        write_document_in_string(self.out, document, flavour)?;
        self.out.push(b'"');
        Ok(())
    }

    #[inline]
    fn element(&mut self, element: &Element<'_>, flavour: Flavour) -> Result<()> {
        self.out.push(b'"');
        write_value_in_string(self.out, element, flavour)?;
        self.out.push(b'"');
        Ok(())
    }

    fn nested(&mut self, write: Write<'_>) -> Result<()> {
        if !self.has_schema {
            return write(self.out);
        }
        let mut text = Vec::new();
        write(&mut text)?;
        write_text(self.out, &text);
        Ok(())
    }

    fn text_or_null(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => self.text(text),
            None if self.has_schema => self.text(b""),
            None => self.null(),
        }
    }

    fn open_list(&mut self) {
        self.out.push(b'[');
    }

    fn item(&mut self, is_first: bool) {
        if !is_first {
            self.out.push(b',');
        }
    }

    fn close_list(&mut self) {
        self.out.push(b']');
    }
}
