//! Writes BSON as extended JSON, byte for byte as Java's driver does.
//!
//! The output is JSON, or the content of a JSON string, in which Debezium's envelope embeds
//! documents. In a string, each quote and backslash is escaped once more.

mod escaped;
mod number;
mod text;

pub(crate) use number::{is_calendar_date, lower_hex, write_date, write_decimal128, write_double};

use crate::bson::{Document, Element, Value};
use crate::error::Result;

/// The representation of BSON types in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Version 1, strict: `{"$numberLong": "7"}`, `{"$date": 0}`; NaN and infinities as in version
    /// 2.
    Strict,
    /// Version 2, relaxed: numbers and dates in their natural form.
    Relaxed,
    /// Relaxed, with a space after each comma: `{"a": 1, "b": 2}`.
    Spaced,
    /// Version 2, canonical: preserves every type.
    Canonical,
}

impl Flavour {
    #[inline]
    fn is_relaxed(self) -> bool {
        matches!(self, Self::Relaxed | Self::Spaced)
    }
}

/// Appends a document as JSON.
pub fn write_document(out: &mut Vec<u8>, document: Document<'_>, flavour: Flavour) -> Result<()> {
    Writer::<false> { out, flavour }.write_document(document, 1)
}

/// Appends a document as the content of a JSON string.
pub fn write_document_in_string(
    out: &mut Vec<u8>,
    document: Document<'_>,
    flavour: Flavour,
) -> Result<()> {
    Writer::<true> { out, flavour }.write_document(document, 1)
}

/// Appends a value as JSON.
pub fn write_value(out: &mut Vec<u8>, element: &Element<'_>, flavour: Flavour) -> Result<()> {
    Writer::<false> { out, flavour }.write_value(element, 0)
}

/// Appends a value as the content of a JSON string.
pub fn write_value_in_string(
    out: &mut Vec<u8>,
    element: &Element<'_>,
    flavour: Flavour,
) -> Result<()> {
    Writer::<true> { out, flavour }.write_value(element, 0)
}

/// Appends a string with its quotes.
pub fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    text::write_escaped::<false>(out, bytes);
    out.push(b'"');
}

struct Writer<'o, const IN_STRING: bool> {
    out: &'o mut Vec<u8>,
    flavour: Flavour,
}

impl<const IN_STRING: bool> Writer<'_, IN_STRING> {
    /// `depth` includes this document.
    fn write_document(&mut self, document: Document<'_>, depth: usize) -> Result<()> {
        document.check_depth(depth)?;
        self.out.push(b'{');
        let mut elements = document.elements();
        let mut is_first = true;
        while let Some(element) = elements.read()? {
            self.separate(is_first);
            is_first = false;
            self.write_name(element.name);
            self.write_value(&element, depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn write_array(&mut self, array: Document<'_>, depth: usize) -> Result<()> {
        array.check_depth(depth)?;
        self.out.push(b'[');
        let mut elements = array.elements();
        let mut is_first = true;
        while let Some(element) = elements.read()? {
            self.separate(is_first);
            is_first = false;
            self.write_value(&element, depth)?;
        }
        self.out.push(b']');
        Ok(())
    }

    #[inline]
    fn write_value(&mut self, element: &Element<'_>, depth: usize) -> Result<()> {
        match element.value {
            Value::Document(document) => self.write_document(document, depth.saturating_add(1))?,
            Value::Array(array) => self.write_array(array, depth.saturating_add(1))?,
            Value::CodeWithScope { code, scope } => {
                self.open("$code");
                self.write_text(code);
                self.next("$scope");
                self.write_document(scope, depth.saturating_add(1))?;
                self.close();
            }
            Value::String(text) => self.write_text(text),
            Value::Int32(number) => self.write_int32(number),
            Value::Int64(number) => self.write_int64(number),
            Value::Double(number) => self.write_double(number),
            Value::Boolean(true) => self.write_raw(b"true"),
            Value::Boolean(false) => self.write_raw(b"false"),
            Value::Null => self.write_raw(b"null"),
            Value::ObjectId(id) => self.write_object_id(id),
            Value::DateTime(millis) => self.write_date(millis),
            other => self.write_rare(other),
        }
        Ok(())
    }

    #[cold]
    fn write_rare(&mut self, value: Value<'_>) {
        match value {
            Value::Binary { subtype, bytes } => self.write_binary(subtype, bytes),
            Value::Undefined => self.write_only("$undefined", b"true"),
            Value::MinKey => self.write_only("$minKey", b"1"),
            Value::MaxKey => self.write_only("$maxKey", b"1"),
            Value::Code(code) => self.write_only_text("$code", code),
            Value::Symbol(symbol) => self.write_only_text("$symbol", symbol),
            Value::Decimal128(bits) => {
                let mut text = Vec::new();
                number::write_decimal128(&mut text, bits);
                self.write_only_text("$numberDecimal", &text);
            }
            Value::Timestamp(time) => {
                self.open("$timestamp");
                self.open("t");
                self.write_integer(time.seconds);
                self.next("i");
                self.write_integer(time.increment);
                self.close();
                self.close();
            }
            Value::Regex { pattern, options } => self.write_regex(pattern, options),
            Value::DbPointer { namespace, id } => {
                let is_wrapped = self.flavour == Flavour::Canonical;
                if is_wrapped {
                    self.open("$dbPointer");
                }
                self.open("$ref");
                self.write_text(namespace);
                self.next("$id");
                self.write_object_id(id);
                self.close();
                if is_wrapped {
                    self.close();
                }
            }
            // `write_value` writes all other types.
            _ => {}
        }
    }

    fn write_int32(&mut self, number: i32) {
        if self.flavour == Flavour::Canonical {
            let mut digits = itoa::Buffer::new();
            self.write_only_text("$numberInt", digits.format(number).as_bytes());
        } else {
            self.write_integer(number);
        }
    }

    fn write_int64(&mut self, number: i64) {
        if self.flavour.is_relaxed() {
            self.write_integer(number);
        } else {
            let mut digits = itoa::Buffer::new();
            self.write_only_text("$numberLong", digits.format(number).as_bytes());
        }
    }

    fn write_double(&mut self, number: f64) {
        if self.flavour != Flavour::Canonical && number.is_finite() {
            number::write_double(self.out, number);
        } else {
            // Java's strict form of NaN and infinities is invalid JSON.
            self.open("$numberDouble");
            self.quote();
            number::write_double(self.out, number);
            self.quote();
            self.close();
        }
    }

    fn write_date(&mut self, millis: i64) {
        self.open("$date");
        match self.flavour {
            Flavour::Strict => self.write_integer(millis),
            Flavour::Relaxed | Flavour::Spaced if number::is_calendar_date(millis) => {
                self.quote();
                number::write_date(self.out, millis);
                self.quote();
            }
            _ => {
                let mut digits = itoa::Buffer::new();
                self.write_only_text("$numberLong", digits.format(millis).as_bytes());
            }
        }
        self.close();
    }

    fn write_object_id(&mut self, id: &[u8; 12]) {
        let mut hex = [[0; 2]; 12];
        for (digits, byte) in hex.iter_mut().zip(id) {
            *digits = number::lower_hex(*byte);
        }
        self.open("$oid");
        self.quote();
        self.write_raw(hex.as_flattened());
        self.quote();
        self.close();
    }

    fn write_binary(&mut self, subtype: u8, bytes: &[u8]) {
        let is_old = self.flavour == Flavour::Strict;
        self.open("$binary");
        if !is_old {
            self.open("base64");
        }
        self.quote();
        base64_simd::STANDARD.encode_append(bytes, self.out);
        self.quote();
        self.next(if is_old { "$type" } else { "subType" });
        self.quote();
        let hex = number::lower_hex(subtype);
        self.write_raw(&hex.map(|digit| digit.to_ascii_uppercase()));
        self.quote();
        self.close();
        if !is_old {
            self.close();
        }
    }

    fn write_regex(&mut self, pattern: &[u8], options: &[u8]) {
        let mut sorted = options.to_vec();
        sorted.sort_unstable();
        let is_old = self.flavour == Flavour::Strict;
        if !is_old {
            self.open("$regularExpression");
        }
        self.open(if is_old { "$regex" } else { "pattern" });
        self.write_text(pattern);
        self.next(if is_old { "$options" } else { "options" });
        self.write_text(&sorted);
        self.close();
        if !is_old {
            self.close();
        }
    }

    fn write_only(&mut self, name: &str, value: &[u8]) {
        self.open(name);
        self.write_raw(value);
        self.close();
    }

    fn write_only_text(&mut self, name: &str, value: &[u8]) {
        self.open(name);
        self.write_text(value);
        self.close();
    }

    /// Begins an object with its first name.
    fn open(&mut self, name: &str) {
        self.out.push(b'{');
        self.write_known_name(name);
    }

    fn next(&mut self, name: &str) {
        self.separate(false);
        self.write_known_name(name);
    }

    fn close(&mut self) {
        self.out.push(b'}');
    }

    #[inline]
    fn separate(&mut self, is_first: bool) {
        if !is_first {
            self.out.push(b',');
            if self.flavour == Flavour::Spaced {
                self.out.push(b' ');
            }
        }
    }

    #[inline]
    fn write_name(&mut self, name: &[u8]) {
        self.write_text(name);
        self.write_raw(b": ");
    }

    /// Writes a name that needs no escapes.
    fn write_known_name(&mut self, name: &str) {
        self.quote();
        self.write_raw(name.as_bytes());
        self.quote();
        self.write_raw(b": ");
    }

    #[inline]
    fn write_text(&mut self, bytes: &[u8]) {
        self.quote();
        text::write_escaped::<IN_STRING>(self.out, bytes);
        self.quote();
    }

    #[inline]
    fn quote(&mut self) {
        if IN_STRING {
            self.out.extend_from_slice(b"\\\"");
        } else {
            self.out.push(b'"');
        }
    }

    fn write_integer(&mut self, number: impl itoa::Integer) {
        self.write_raw(itoa::Buffer::new().format(number).as_bytes());
    }

    #[inline]
    fn write_raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
}
