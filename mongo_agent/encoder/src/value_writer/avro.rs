//! Writes members in Avro's binary form (<https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>).

use event_encoding::avro::varint;

use super::{ValueWriter, Write};
use crate::bson::{Document, Element};
use crate::error::Result;
use crate::json::{Flavour, write_document, write_value};

/// The second branch of a union: 1 as a varint.
const SECOND: u8 = 2;
/// The count of a block with one element: 1 as a varint.
const ONE: u8 = 2;
/// Bytes of a varint from 64 to 8191, the length of most documents.
const USUAL_LENGTH_BYTES: usize = 2;

pub(crate) struct AvroWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> AvroWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    #[inline]
    fn varint(&mut self, number: i64) {
        let (bytes, length) = varint(number);
        let bytes = bytes.get(..length).unwrap_or_default();
        self.out.extend_from_slice(bytes);
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.varint(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        self.out.extend_from_slice(bytes);
    }

    /// Writes the length of what `write` appends, then the appended bytes.
    #[inline]
    fn write_with_length(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; USUAL_LENGTH_BYTES]);
        let text_start = self.out.len();
        write(self.out)?;
        let length = self.out.len().saturating_sub(text_start);
        let (bytes, count) = varint(i64::try_from(length).unwrap_or(i64::MAX));
        let bytes = bytes.into_iter().take(count);
        if let Some(place) = self.out.get_mut(start..text_start)
            && count == USUAL_LENGTH_BYTES
        {
            place
                .iter_mut()
                .zip(bytes)
                .for_each(|(slot, byte)| *slot = byte);
        } else {
            self.out.splice(start..text_start, bytes);
        }
        Ok(())
    }
}

impl ValueWriter for AvroWriter<'_> {
    #[inline]
    fn literal(&mut self, _: &[u8]) {}

    #[inline]
    fn null(&mut self) {
        self.out.push(0);
    }

    #[inline]
    fn present(&mut self) {
        self.out.push(SECOND);
    }

    #[inline]
    fn present_by_default(&mut self) {
        self.out.push(0);
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        match std::str::from_utf8(text) {
            Ok(valid) => self.bytes(valid.as_bytes()),
            Err(_) => self.bytes(String::from_utf8_lossy(text).as_bytes()),
        }
    }

    #[inline]
    fn plain(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    #[inline]
    fn number(&mut self, number: i64) {
        self.varint(number);
    }

    #[inline]
    fn unsigned(&mut self, number: u32) {
        self.varint(i64::from(number.cast_signed()));
    }

    fn boolean(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    #[inline]
    fn document(&mut self, document: Document<'_>, flavour: Flavour) -> Result<()> {
        self.write_with_length(|out| write_document(out, document, flavour))
    }

    #[inline]
    fn element(&mut self, element: &Element<'_>, flavour: Flavour) -> Result<()> {
        self.write_with_length(|out| write_value(out, element, flavour))
    }

    fn nested(&mut self, write: Write<'_>) -> Result<()> {
        self.write_with_length(write)
    }

    fn text_or_null(&mut self, text: Option<&[u8]>) {
        self.text(text.unwrap_or_default());
    }

    fn open_list(&mut self) {}

    fn item(&mut self, _: bool) {
        self.out.push(ONE);
    }

    fn close_list(&mut self) {
        self.out.push(0);
    }
}
