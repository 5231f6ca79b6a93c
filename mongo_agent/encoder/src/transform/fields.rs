//! The fields of a transformed message, in order.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;

use super::document_json::{
    ArrayEncoding, DocumentForm, adjust, check_names, sort_options, write_text,
};
use super::envelope_member::NamedMember;
use crate::bson::{Document, Value};
use crate::error::Result;

/// The value of a field.
#[derive(Debug, Clone)]
pub(super) enum Content<'b> {
    Value(Value<'b>),
    Text(Cow<'b, [u8]>),
    Flag(bool),
    /// A member of the envelope.
    Member(&'b NamedMember),
}

#[derive(Debug, Clone)]
pub(super) struct Field<'b> {
    /// The adjusted name, after the names of flattened documents.
    pub name: Cow<'b, [u8]>,
    /// The adjusted name in its document, from which schema names are built.
    pub key: Cow<'b, [u8]>,
    /// Path of its document in the message, with a dot before each name.
    pub parent: Box<str>,
    pub content: Content<'b>,
    /// Depth of its document.
    pub depth: usize,
}

impl<'b> Field<'b> {
    /// Creates a top-level field of the message.
    pub(super) fn new(name: impl Into<Cow<'b, [u8]>>, content: Content<'b>) -> Self {
        let name = name.into();
        Self {
            key: name.clone(),
            name,
            parent: "".into(),
            content,
            depth: 1,
        }
    }
}

/// The document that contains a field: prefix of the name of the field, path and depth.
#[derive(Debug, Clone, Copy)]
struct Place<'p> {
    prefix: &'p [u8],
    path: &'p str,
    depth: usize,
}

const TOP: Place<'_> = Place {
    prefix: b"",
    path: "",
    depth: 1,
};

/// Collects fields according to the options for documents.
pub(super) struct Fields<'b, 'f> {
    form: &'f DocumentForm<'f>,
    pub all: Vec<Field<'b>>,
}

impl<'b, 'f> Fields<'b, 'f> {
    pub(super) fn new(form: &'f DocumentForm<'f>) -> Self {
        Self {
            form,
            all: Vec::new(),
        }
    }

    /// Adds a field whose name is not adjusted.
    pub(super) fn add(&mut self, name: impl Into<Cow<'b, [u8]>>, content: Content<'b>) {
        self.all.push(Field::new(name, content));
    }

    /// Adds a boolean field.
    pub(super) fn add_flag(&mut self, name: &'b [u8], value: bool) {
        self.add(adjust(name, self.form.names), Content::Flag(value));
    }

    pub(super) fn add_document(&mut self, document: Document<'b>) -> Result<()> {
        self.add_nested(TOP, document)
    }

    /// Adds a field under the given name, which is adjusted.
    pub(super) fn add_field(
        &mut self,
        name: impl Into<Cow<'b, [u8]>>,
        value: Value<'b>,
    ) -> Result<()> {
        let name = match (self.form.names, name.into()) {
            (NameAdjustment::None, name) => name,
            (names, name) => Cow::Owned(adjust(&name, names).into_owned()),
        };
        self.add_at(TOP, name, value)
    }

    fn add_nested(&mut self, place: Place<'_>, document: Document<'b>) -> Result<()> {
        document.check_depth(place.depth)?;
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            self.add_at(place, adjust(element.name, self.form.names), element.value)?;
        }
        Ok(())
    }

    /// Adds a field, or the fields inside it if documents are flattened.
    fn add_at(&mut self, place: Place<'_>, key: Cow<'b, [u8]>, value: Value<'b>) -> Result<()> {
        if value == Value::Undefined {
            return Ok(());
        }
        let is_flat = self.form.delimiter.is_some();
        let name = self.joined(place.prefix, &key);
        let is_document = self.form.arrays == ArrayEncoding::Document;
        if !is_flat || !has_fields(value, is_document) {
            self.all.push(Field {
                name: name.unwrap_or_else(|| key.clone()),
                key,
                parent: place.path.into(),
                content: Content::Value(value),
                depth: place.depth,
            });
            return Ok(());
        }
        let path = format!("{}.{}", place.path, String::from_utf8_lossy(&key));
        let inner = Place {
            prefix: name.as_deref().unwrap_or(&key),
            path: &path,
            depth: place.depth.saturating_add(1),
        };
        match value {
            Value::Document(document) => self.add_nested(inner, document)?,
            Value::Array(array) => self.add_elements(inner, array)?,
            Value::Regex { pattern, options } => {
                self.add_part(inner, "regex", Value::String(pattern));
                let options = Content::Text(Cow::Owned(sort_options(options)));
                self.add_content(inner, "options", options);
            }
            Value::DbPointer { namespace, id } => {
                self.add_part(inner, "ref", Value::String(namespace));
                self.add_part(inner, "id", Value::ObjectId(id));
            }
            Value::CodeWithScope { code, scope } => {
                self.add_part(inner, "code", Value::Code(code));
                self.add_at(inner, Cow::Borrowed(b"scope"), Value::Document(scope))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_elements(&mut self, place: Place<'_>, array: Document<'b>) -> Result<()> {
        array.check_depth(place.depth)?;
        let mut elements = array.elements();
        let mut index = 0_usize;
        while let Some(element) = elements.read()? {
            let key = adjust(&element_name(index), self.form.names).into_owned();
            self.add_at(place, Cow::Owned(key), element.value)?;
            index = index.saturating_add(1);
        }
        Ok(())
    }

    fn add_part(&mut self, place: Place<'_>, key: &'static str, value: Value<'b>) {
        self.add_content(place, key, Content::Value(value));
    }

    fn add_content(&mut self, place: Place<'_>, key: &'static str, content: Content<'b>) {
        let key = key.as_bytes();
        let name = self.joined(place.prefix, key);
        self.all.push(Field {
            name: name.unwrap_or(Cow::Borrowed(key)),
            key: Cow::Borrowed(key),
            parent: place.path.into(),
            content,
            depth: place.depth,
        });
    }

    /// Returns the name after the prefix of its document, or `None` without a prefix. As in
    /// Connect, no delimiter follows an empty name.
    fn joined(&self, prefix: &[u8], name: &[u8]) -> Option<Cow<'b, [u8]>> {
        let delimiter = self.form.delimiter.filter(|_| !prefix.is_empty())?;
        Some(Cow::Owned([prefix, delimiter.as_bytes(), name].concat()))
    }
}

/// Returns the name of an element in an array that is written as an object.
pub(super) fn element_name(index: usize) -> Vec<u8> {
    format!("_{index}").into_bytes()
}

fn has_fields(value: Value<'_>, are_arrays_documents: bool) -> bool {
    match value {
        Value::Array(_) => are_arrays_documents,
        Value::Document(_)
        | Value::Regex { .. }
        | Value::DbPointer { .. }
        | Value::CodeWithScope { .. } => true,
        _ => false,
    }
}

/// Appends the fields as a JSON object, or nothing if there are none. Rejects equal names, because
/// a reader would see only one of the fields.
pub(super) fn write_object(
    out: &mut Vec<u8>,
    fields: &[Field<'_>],
    mut write: impl FnMut(&mut Vec<u8>, &Field<'_>) -> Result<()>,
) -> Result<()> {
    let mut names = Vec::with_capacity(fields.len());
    for field in fields {
        out.push(if names.is_empty() { b'{' } else { b',' });
        let start = out.len();
        write_text(out, &field.name);
        names.push((start, out.len()));
        out.push(b':');
        write(out, field)?;
    }
    if !names.is_empty() {
        out.push(b'}');
    }
    check_names(out, &mut names)
}
