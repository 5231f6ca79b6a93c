//! Writes documents like Connect's `JsonConverter` writes Debezium's structs: values in their
//! natural form, without the types of extended JSON.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;

use super::fields_union::FieldsUnion;
use crate::bson::{Document, Value};
use crate::error::{Problem, Result};
use crate::json::{lower_hex, write_decimal128, write_double};

/// How arrays are written (`array.encoding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrayEncoding {
    #[default]
    Array,
    /// As an object with the members `_0`, `_1`, …
    Document,
}

/// The options for writing documents.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentForm<'f> {
    pub arrays: ArrayEncoding,
    pub names: NameAdjustment,
    /// Moves the fields of nested documents to the top level, and joins their names with this text.
    pub delimiter: Option<&'f str>,
}

/// Rejects equal names among these ranges of `out`.
pub(super) fn check_names(out: &[u8], places: &mut [(usize, usize)]) -> Result<()> {
    let name_at = |(start, end): &(usize, usize)| out.get(*start..*end).unwrap_or_default();
    places.sort_unstable_by(|a, b| name_at(a).cmp(name_at(b)));
    let mut pairs = places.windows(2);
    let twice = pairs.find_map(|pair| match pair {
        [a, b] if name_at(a) == name_at(b) => Some(name_at(a)),
        _ => None,
    });
    let Some(name) = twice else { return Ok(()) };
    let name = String::from_utf8_lossy(name).trim_matches('"').to_owned();
    Err(Problem::NameTwice { name }.at_offset(0))
}

/// Appends the value of a field; `depth` is the depth of its document.
pub(super) fn write_field(
    out: &mut Vec<u8>,
    value: Value<'_>,
    form: &DocumentForm<'_>,
    depth: usize,
) -> Result<()> {
    Writer { out, form }.write_field(value, None, depth)
}

/// Appends a value; `depth` is the depth of the document that contains it.
pub(super) fn write_value(
    out: &mut Vec<u8>,
    value: Value<'_>,
    form: &DocumentForm<'_>,
    depth: usize,
) -> Result<()> {
    Writer { out, form }.write_value(value, None, depth)
}

struct Writer<'o, 'f> {
    out: &'o mut Vec<u8>,
    form: &'f DocumentForm<'f>,
}

impl Writer<'_, '_> {
    /// Writes the value of a field. With adjusted names, Debezium writes an empty array as null.
    fn write_field<'b>(
        &mut self,
        value: Value<'b>,
        union: Option<&FieldsUnion<'b>>,
        depth: usize,
    ) -> Result<()> {
        match value {
            Value::Array(array)
                if self.form.names != NameAdjustment::None
                    && array.elements().read()?.is_none() =>
            {
                self.out.extend_from_slice(b"null");
                Ok(())
            }
            value => self.write_value(value, union, depth),
        }
    }

    fn write_value<'b>(
        &mut self,
        value: Value<'b>,
        union: Option<&FieldsUnion<'b>>,
        depth: usize,
    ) -> Result<()> {
        let inner = depth.saturating_add(1);
        match value {
            Value::Document(document) => return self.write_document(document, union, inner),
            Value::Array(array) => {
                let union = union.and_then(|union| union.elements.as_deref());
                return self.write_array(array, union, inner);
            }
            Value::CodeWithScope { code, scope } => {
                self.out.extend_from_slice(br#"{"code":"#);
                write_text(self.out, code);
                self.out.extend_from_slice(br#","scope":"#);
                self.write_document(scope, None, inner)?;
                self.out.push(b'}');
            }
            Value::Regex { pattern, options } => {
                self.out.extend_from_slice(br#"{"regex":"#);
                write_text(self.out, pattern);
                self.out.extend_from_slice(br#","options":"#);
                write_text(self.out, &sort_options(options));
                self.out.push(b'}');
            }
            Value::DbPointer { namespace, id } => {
                self.out.extend_from_slice(br#"{"ref":"#);
                write_text(self.out, namespace);
                self.out.extend_from_slice(br#","id":"#);
                write_object_id(self.out, id);
                self.out.push(b'}');
            }
            value => write_leaf(self.out, value),
        }
        Ok(())
    }

    fn write_document<'b>(
        &mut self,
        document: Document<'b>,
        union: Option<&FieldsUnion<'b>>,
        depth: usize,
    ) -> Result<()> {
        document.check_depth(depth)?;
        let mut is_missing = vec![true; union.map_or(0, |union| union.fields.len())];
        let mut is_first = true;
        // Adjustment may make different names equal.
        let mut names = Vec::new();
        self.out.push(b'{');
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            if element.value == Value::Undefined {
                continue;
            }
            self.separate(&mut is_first);
            let start = self.out.len();
            write_name(self.out, element.name, self.form.names);
            if self.form.names != NameAdjustment::None {
                names.push((start, self.out.len()));
            }
            self.out.push(b':');
            let known = union.and_then(|union| union.fields.get_full(element.name));
            if let Some(missing) = known.and_then(|(place, ..)| is_missing.get_mut(place)) {
                *missing = false;
            }
            self.write_field(element.value, known.map(|(.., field)| field), depth)?;
        }
        let all = union.into_iter().flat_map(|union| union.fields.keys());
        for (name, _) in all.zip(is_missing).filter(|(_, missing)| *missing) {
            self.separate(&mut is_first);
            write_name(self.out, name, self.form.names);
            self.out.extend_from_slice(b":null");
        }
        self.out.push(b'}');
        check_names(self.out, &mut names)
    }

    fn write_array<'b>(
        &mut self,
        array: Document<'b>,
        union: Option<&FieldsUnion<'b>>,
        depth: usize,
    ) -> Result<()> {
        array.check_depth(depth)?;
        let is_object = self.form.arrays == ArrayEncoding::Document;
        let own = match union {
            None if !is_object => FieldsUnion::of_array(array, depth)?,
            _ => None,
        };
        let union = union.or(own.as_ref()).filter(|_| !is_object);
        self.out.push(if is_object { b'{' } else { b'[' });
        let mut elements = array.elements();
        let mut index = 0_usize;
        while let Some(element) = elements.read()? {
            self.separate(&mut (index == 0));
            if is_object {
                self.out.extend_from_slice(b"\"_");
                self.out
                    .extend_from_slice(itoa::Buffer::new().format(index).as_bytes());
                self.out.extend_from_slice(b"\":");
            }
            self.write_value(element.value, union, depth)?;
            index = index.saturating_add(1);
        }
        self.out.push(if is_object { b'}' } else { b']' });
        Ok(())
    }

    fn separate(&mut self, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.out.push(b',');
        }
    }
}

/// Appends a scalar value, or null for any other value.
pub(super) fn write_leaf(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => write_text(out, text),
        Value::Int32(number) => write_integer(out, i64::from(number)),
        Value::Int64(number) | Value::DateTime(number) => write_integer(out, number),
        Value::Timestamp(time) => write_integer(out, i64::from(time.seconds) * 1000),
        Value::Double(number) if number.is_finite() => write_double(out, number),
        Value::Double(number) => quoted(out, |out| write_double(out, number)),
        Value::Decimal128(bits) => quoted(out, |out| write_decimal128(out, bits)),
        Value::Boolean(value) => write_flag(out, value),
        Value::ObjectId(id) => write_object_id(out, id),
        Value::Binary { bytes, .. } => {
            quoted(out, |out| base64_simd::STANDARD.encode_append(bytes, out));
        }
        Value::MinKey => write_text(out, b"MinKey"),
        Value::MaxKey => write_text(out, b"MaxKey"),
        _ => out.extend_from_slice(b"null"),
    }
}

pub(super) fn write_flag(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

fn write_integer(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Writes the digits in quotes.
fn write_object_id(out: &mut Vec<u8>, id: &[u8; 12]) {
    out.push(b'"');
    for byte in id {
        out.extend_from_slice(&lower_hex(*byte));
    }
    out.push(b'"');
}

pub(super) fn sort_options(options: &[u8]) -> Vec<u8> {
    let mut sorted = options.to_vec();
    sorted.sort_unstable();
    sorted
}

pub(super) fn adjust(name: &[u8], names: NameAdjustment) -> Cow<'_, [u8]> {
    if names == NameAdjustment::None {
        return Cow::Borrowed(name);
    }
    Cow::Owned(names.adjust(&String::from_utf8_lossy(name)).into_bytes())
}

fn write_name(out: &mut Vec<u8>, name: &[u8], names: NameAdjustment) {
    write_text(out, &adjust(name, names));
}

/// Writes a string like Jackson, which escapes quotes, backslashes, controls and characters beyond
/// the basic plane. Invalid UTF-8 becomes U+FFFD.
pub(super) fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        write_valid(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

fn write_valid(out: &mut Vec<u8>, text: &str) {
    const FOUR_BYTES: u8 = 0xf0;
    let is_escaped = |byte: u8| !(0x20..FOUR_BYTES).contains(&byte) || matches!(byte, b'"' | b'\\');
    let mut rest = text;
    while let Some(index) = rest.bytes().position(is_escaped) {
        let (plain, escaped) = rest.split_at(index);
        out.extend_from_slice(plain.as_bytes());
        let mut characters = escaped.chars();
        match characters.next() {
            Some('"') => out.extend_from_slice(b"\\\""),
            Some('\\') => out.extend_from_slice(b"\\\\"),
            Some('\u{8}') => out.extend_from_slice(b"\\b"),
            Some('\u{c}') => out.extend_from_slice(b"\\f"),
            Some('\n') => out.extend_from_slice(b"\\n"),
            Some('\r') => out.extend_from_slice(b"\\r"),
            Some('\t') => out.extend_from_slice(b"\\t"),
            Some(other) => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04X}").as_bytes());
                }
            }
            None => {}
        }
        rest = characters.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}
