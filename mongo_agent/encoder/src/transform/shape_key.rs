//! A cache key of everything that determines a schema: names and types of fields, not values.
//!
//! Documents with equal keys have equal schemas. Documents with equal schemas may have different
//! keys, which only costs time.

use super::document_json::{ArrayEncoding, DocumentForm};
use super::fields::{Content, Field};
use super::inferred_schema::Scalar;
use crate::bson::{Document, Value};
use crate::error::Result;

/// An element of an array is omitted if its key equals one of this many earlier keys.
const COMPARED: usize = 8;

/// Appends the key of a field.
pub(super) fn write_field(
    key: &mut Vec<u8>,
    field: &Field<'_>,
    form: &DocumentForm<'_>,
) -> Result<()> {
    for part in [&*field.name, &*field.key, field.parent.as_bytes()] {
        key.extend_from_slice(part);
        key.push(0);
    }
    match &field.content {
        Content::Value(value) => write_value(key, *value, form, field.depth)?,
        Content::Text(_) => key.push(b's'),
        Content::Flag(_) => key.push(b'f'),
        Content::Member(_) => key.push(b'm'),
    }
    Ok(())
}

fn write_value(
    key: &mut Vec<u8>,
    value: Value<'_>,
    form: &DocumentForm<'_>,
    depth: usize,
) -> Result<()> {
    let inner = depth.saturating_add(1);
    if let Some(scalar) = Scalar::of_value(value) {
        key.push(scalar as u8);
    }
    match value {
        Value::CodeWithScope { scope, .. } => write_document(key, b'c', scope, form, inner),
        Value::Document(document) => write_document(key, b'{', document, form, inner),
        Value::Array(array) => write_array(key, array, form, inner),
        _ => Ok(()),
    }
}

fn write_document(
    key: &mut Vec<u8>,
    start: u8,
    document: Document<'_>,
    form: &DocumentForm<'_>,
    depth: usize,
) -> Result<()> {
    document.check_depth(depth)?;
    key.push(start);
    let mut elements = document.elements();
    while let Some(element) = elements.read()? {
        if element.value != Value::Undefined {
            key.push(b'.');
            key.extend_from_slice(element.name);
            key.push(0);
            write_value(key, element.value, form, depth)?;
        }
    }
    key.push(b'}');
    Ok(())
}

fn write_array(
    key: &mut Vec<u8>,
    array: Document<'_>,
    form: &DocumentForm<'_>,
    depth: usize,
) -> Result<()> {
    array.check_depth(depth)?;
    key.push(b'[');
    let mut others: Vec<(usize, usize)> = Vec::new();
    let mut elements = array.elements();
    while let Some(element) = elements.read()? {
        let start = key.len();
        write_value(key, element.value, form, depth)?;
        let (before, own) = key.split_at(start);
        let is_known = form.arrays == ArrayEncoding::Array
            && others
                .iter()
                .any(|(start, end)| before.get(*start..*end) == Some(own));
        if is_known {
            key.truncate(start);
        } else if others.len() < COMPARED {
            others.push((start, key.len()));
        }
    }
    key.push(b']');
    Ok(())
}
