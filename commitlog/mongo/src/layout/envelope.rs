//! What the envelopes of all Debezium releases have in common.

use crate::bson::{Document, Element, Value};
use crate::change::{Change, UpdateDescription, integer, text};
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::json;

pub(super) fn write_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// `"before":…,"after":…`
pub(super) fn write_images(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    out.extend_from_slice(br#""before":"#);
    write_document(out, change.before, format)?;
    out.extend_from_slice(br#","after":"#);
    write_document(out, change.after, format)
}

/// A document as a string of JSON.
pub(super) fn write_document(
    out: &mut Vec<u8>,
    document: Option<Document<'_>>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    let Some(document) = document else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    let (flavour, spacing) = format.document_json.of_documents();
    out.push(b'"');
    json::write_document_in_string(out, document, flavour, spacing)?;
    out.push(b'"');
    Ok(())
}

/// `"updateDescription":…`
pub(super) fn write_update(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    out.extend_from_slice(br#""updateDescription":"#);
    if let Some(update) = &change.update {
        return write_description(out, update, format);
    }
    out.extend_from_slice(b"null");
    Ok(())
}

fn write_description(
    out: &mut Vec<u8>,
    update: &UpdateDescription<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    out.extend_from_slice(br#"{"removedFields":"#);
    write_list(out, update.removed_fields, |out, element| {
        json::write_text(out, text(element, "removedFields")?);
        Ok(())
    })?;
    out.extend_from_slice(br#","updatedFields":"#);
    match update.updated_fields {
        Some(fields) => {
            let (flavour, spacing) = format.document_json.of_updated_fields();
            out.push(b'"');
            json::write_document_in_string(out, fields, flavour, spacing)?;
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","truncatedArrays":"#);
    write_list(out, update.truncated_arrays, |out, element| {
        write_truncated(out, element)
    })?;
    out.push(b'}');
    Ok(())
}

/// A list that is empty is null, as in Debezium.
fn write_list(
    out: &mut Vec<u8>,
    list: Option<Document<'_>>,
    write: impl Fn(&mut Vec<u8>, &Element<'_>) -> Result<(), BsonError>,
) -> Result<(), BsonError> {
    let mut is_empty = true;
    if let Some(list) = list {
        let mut elements = list.elements();
        while let Some(element) = elements.read()? {
            out.push(if is_empty { b'[' } else { b',' });
            is_empty = false;
            write(out, &element)?;
        }
    }
    out.extend_from_slice(if is_empty { b"null" } else { b"]" });
    Ok(())
}

fn write_truncated(out: &mut Vec<u8>, element: &Element<'_>) -> Result<(), BsonError> {
    let mut field: &[u8] = b"";
    let mut new_size = 0;
    if let Value::Document(truncated) = element.value {
        let mut members = truncated.elements();
        while let Some(member) = members.read()? {
            match member.name {
                b"field" => field = text(&member, "truncatedArrays.field")?,
                b"newSize" => new_size = integer(&member, "truncatedArrays.newSize")?,
                _ => {}
            }
        }
    }
    out.extend_from_slice(br#"{"field":"#);
    json::write_text(out, field);
    out.extend_from_slice(br#","size":"#);
    write_integer(out, new_size);
    out.push(b'}');
    Ok(())
}
