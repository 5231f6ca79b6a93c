//! Documents as the JSON that Connect's `JsonConverter` writes of Debezium's structs: values in
//! their usual form, without the types of extended JSON.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;

use super::fields_union::{FieldsUnion, check_depth};
use crate::bson::{Document, Element, Value};
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

/// The form of documents.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentForm<'f> {
    pub arrays: ArrayEncoding,
    pub names: NameAdjustment,
    /// Puts the fields of nested documents into the outermost one, their names joined by this.
    pub delimiter: Option<&'f str>,
}

/// Writes the members of one JSON object.
pub(super) struct ObjectWriter<'o, 'f> {
    out: &'o mut Vec<u8>,
    form: &'f DocumentForm<'f>,
    start: usize,
    /// Places of the names in `out`, with their quotes.
    names: Vec<(usize, usize)>,
}

impl<'o, 'f> ObjectWriter<'o, 'f> {
    pub(super) fn open(out: &'o mut Vec<u8>, form: &'f DocumentForm<'f>) -> Self {
        let start = out.len();
        Self {
            out,
            form,
            start,
            names: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.len() == self.start
    }

    /// Ends the object; nothing remains of an empty one. Two members of the same name are an error:
    /// a reader would see only one of them.
    pub(super) fn close(mut self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.out.push(b'}');
        check_names(self.out, &mut self.names)
    }

    /// Adds a member whose value `write` appends; its name is not adjusted.
    pub(super) fn add(
        &mut self,
        name: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.open_member(name);
        write(self.out)
    }

    /// Adds a boolean field.
    pub(super) fn add_flag(&mut self, name: &[u8], value: bool) {
        self.open_member(&adjusted(name, self.form.names));
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(super) fn add_fields(&mut self, document: Document<'_>) -> Result<()> {
        self.add_nested(b"", document, 1)
    }

    /// Adds a field under another name.
    pub(super) fn add_field(&mut self, name: &[u8], element: &Element<'_>) -> Result<()> {
        self.add_at(&adjusted(name, self.form.names), element.value, 1)
    }

    fn add_nested(&mut self, prefix: &[u8], document: Document<'_>, depth: usize) -> Result<()> {
        check_depth(document, depth)?;
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            let name = self.joined(prefix, element.name);
            self.add_at(&name, element.value, depth)?;
        }
        Ok(())
    }

    /// Adds a field, or in its place its own fields. `depth` is that of the document that has it.
    fn add_at(&mut self, name: &[u8], value: Value<'_>, depth: usize) -> Result<()> {
        let inner = depth.saturating_add(1);
        let is_flat = self.form.delimiter.is_some();
        match value {
            Value::Undefined => {}
            Value::Document(document) if is_flat => self.add_nested(name, document, inner)?,
            Value::Array(array) if is_flat && self.form.arrays == ArrayEncoding::Document => {
                self.add_elements(name, array, inner)?;
            }
            Value::Regex { pattern, options } if is_flat => {
                self.add_part(name, b"regex", |out| write_text(out, pattern));
                self.add_part(name, b"options", |out| write_text(out, &sorted(options)));
            }
            Value::DbPointer { namespace, id } if is_flat => {
                self.add_part(name, b"ref", |out| write_text(out, namespace));
                self.add_part(name, b"id", |out| write_object_id(out, id));
            }
            Value::CodeWithScope { code, scope } if is_flat => {
                self.add_part(name, b"code", |out| write_text(out, code));
                let name = self.joined(name, b"scope").into_owned();
                self.add_nested(&name, scope, inner)?;
            }
            value => {
                self.open_member(name);
                let mut writer = Writer {
                    out: self.out,
                    form: self.form,
                };
                writer.write_field(value, None, depth)?;
            }
        }
        Ok(())
    }

    fn add_elements(&mut self, name: &[u8], array: Document<'_>, depth: usize) -> Result<()> {
        check_depth(array, depth)?;
        let mut elements = array.elements();
        let mut index = 0_usize;
        while let Some(element) = elements.read()? {
            let joined = self
                .joined(name, format!("_{index}").as_bytes())
                .into_owned();
            self.add_at(&joined, element.value, depth)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }

    fn add_part(&mut self, prefix: &[u8], name: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        let name = self.joined(prefix, name).into_owned();
        self.open_member(&name);
        write(self.out);
    }

    /// The adjusted name after the prefix of its document. As in Connect, no delimiter follows an
    /// empty name.
    fn joined<'n>(&self, prefix: &[u8], name: &'n [u8]) -> Cow<'n, [u8]> {
        let name = adjusted(name, self.form.names);
        match self.form.delimiter {
            Some(delimiter) if !prefix.is_empty() => {
                Cow::Owned([prefix, delimiter.as_bytes(), &name].concat())
            }
            _ => name,
        }
    }

    /// `name` is adjusted.
    fn open_member(&mut self, name: &[u8]) {
        let is_first = self.is_empty();
        self.out.push(if is_first { b'{' } else { b',' });
        let start = self.out.len();
        write_text(self.out, name);
        self.names.push((start, self.out.len()));
        self.out.push(b':');
    }
}

/// Rejects two equal names at these places of `out`.
fn check_names(out: &[u8], places: &mut [(usize, usize)]) -> Result<()> {
    let name_at = |(start, end): &(usize, usize)| out.get(*start..*end).unwrap_or_default();
    places.sort_unstable_by(|a, b| name_at(a).cmp(name_at(b)));
    let mut pairs = places.windows(2);
    let twice = pairs.find_map(|pair| match pair {
        [a, b] if name_at(a) == name_at(b) => Some(name_at(a)),
        _ => None,
    });
    let Some(name) = twice else { return Ok(()) };
    let name = String::from_utf8_lossy(name).trim_matches('"').to_owned();
    Err(Problem::NameTwice { name }.at(0))
}

/// Appends a value; `depth` is that of the document that contains it.
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
            Value::String(text) | Value::Code(text) | Value::Symbol(text) => {
                write_text(self.out, text);
            }
            Value::Int32(number) => self.write_integer(i64::from(number)),
            Value::Int64(number) | Value::DateTime(number) => self.write_integer(number),
            Value::Timestamp(time) => self.write_integer(i64::from(time.seconds) * 1000),
            Value::Double(number) if number.is_finite() => write_double(self.out, number),
            Value::Double(number) => self.quoted(|out| write_double(out, number)),
            Value::Decimal128(bits) => self.quoted(|out| write_decimal128(out, bits)),
            Value::Boolean(true) => self.out.extend_from_slice(b"true"),
            Value::Boolean(false) => self.out.extend_from_slice(b"false"),
            Value::Null | Value::Undefined => self.out.extend_from_slice(b"null"),
            Value::ObjectId(id) => write_object_id(self.out, id),
            Value::Binary { bytes, .. } => {
                self.quoted(|out| base64_simd::STANDARD.encode_append(bytes, out));
            }
            Value::Regex { pattern, options } => {
                self.out.extend_from_slice(br#"{"regex":"#);
                write_text(self.out, pattern);
                self.out.extend_from_slice(br#","options":"#);
                write_text(self.out, &sorted(options));
                self.out.push(b'}');
            }
            Value::DbPointer { namespace, id } => {
                self.out.extend_from_slice(br#"{"ref":"#);
                write_text(self.out, namespace);
                self.out.extend_from_slice(br#","id":"#);
                write_object_id(self.out, id);
                self.out.push(b'}');
            }
            Value::MinKey => write_text(self.out, b"MinKey"),
            Value::MaxKey => write_text(self.out, b"MaxKey"),
        }
        Ok(())
    }

    fn write_document<'b>(
        &mut self,
        document: Document<'b>,
        union: Option<&FieldsUnion<'b>>,
        depth: usize,
    ) -> Result<()> {
        check_depth(document, depth)?;
        let fields = union.map_or(&[][..], |union| &union.fields);
        let mut is_missing = vec![true; fields.len()];
        let mut is_first = true;
        // Names that are different in the document may become equal.
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
            let place = union.and_then(|union| union.place(element.name));
            if let Some(missing) = place.and_then(|place| is_missing.get_mut(place)) {
                *missing = false;
            }
            let field = place.and_then(|place| fields.get(place)).map(|(_, of)| of);
            self.write_field(element.value, field, depth)?;
        }
        for ((name, _), _) in fields
            .iter()
            .zip(is_missing)
            .filter(|(_, missing)| *missing)
        {
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
        check_depth(array, depth)?;
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

    fn write_integer(&mut self, number: i64) {
        let mut digits = itoa::Buffer::new();
        self.out.extend_from_slice(digits.format(number).as_bytes());
    }

    fn quoted(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'"');
        write(self.out);
        self.out.push(b'"');
    }
}

/// The digits in quotes.
fn write_object_id(out: &mut Vec<u8>, id: &[u8; 12]) {
    out.push(b'"');
    for byte in id {
        out.extend_from_slice(&lower_hex(*byte));
    }
    out.push(b'"');
}

fn sorted(options: &[u8]) -> Vec<u8> {
    let mut sorted = options.to_vec();
    sorted.sort_unstable();
    sorted
}

fn adjusted(name: &[u8], names: NameAdjustment) -> Cow<'_, [u8]> {
    if names == NameAdjustment::None {
        return Cow::Borrowed(name);
    }
    Cow::Owned(names.adjust(&String::from_utf8_lossy(name)).into_bytes())
}

fn write_name(out: &mut Vec<u8>, name: &[u8], names: NameAdjustment) {
    write_text(out, &adjusted(name, names));
}

/// A string as Jackson writes it: quotes, backslashes, controls and all beyond the basic plane are
/// escaped. Invalid UTF-8 becomes U+FFFD.
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
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut characters = from.chars();
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
