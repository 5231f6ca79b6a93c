//! What the envelopes of all Debezium releases have in common.

use crate::bson::{Document, Element, Value};
use crate::change::{Change, Operation, UpdateDescription, integer, text};
use crate::error::BsonError;
use crate::form::Form;
use crate::format::EventFormat;

pub(super) fn write_optional<F: Form + ?Sized>(form: &mut F, number: Option<i64>) {
    match number {
        Some(number) => {
            form.there();
            form.number(number);
        }
        None => form.null(),
    }
}

/// `"before":…,"after":…`
pub(super) fn write_images<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    form.literal(br#""before":"#);
    write_document(form, change.before, format)?;
    form.literal(br#","after":"#);
    write_document(form, change.after, format)
}

/// `,"op":…,"ts_ms":…`; the time is given in nanoseconds.
pub(super) fn write_operation<F: Form>(form: &mut F, operation: Operation, at_ns: i64) {
    form.literal(br#","op":"#);
    form.there();
    form.plain(operation.letter());
    form.literal(br#","ts_ms":"#);
    write_optional(form, Some(at_ns.div_euclid(1_000_000)));
}

/// A document as a string of JSON.
pub(super) fn write_document<F: Form>(
    form: &mut F,
    document: Option<Document<'_>>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    let Some(document) = document else {
        form.null();
        return Ok(());
    };
    let (flavour, spacing) = format.document_json.of_documents();
    form.there();
    form.document(document, flavour, spacing)
}

/// `"updateDescription":…`
pub(super) fn write_update<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    form.literal(br#""updateDescription":"#);
    if let Some(update) = &change.update {
        return write_description(form, update, format);
    }
    form.null();
    Ok(())
}

fn write_description<F: Form>(
    form: &mut F,
    update: &UpdateDescription<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    form.there();
    form.literal(br#"{"removedFields":"#);
    write_list(form, update.removed_fields, |form, element| {
        form.text(text(element, "removedFields")?);
        Ok(())
    })?;
    form.literal(br#","updatedFields":"#);
    match update.updated_fields {
        Some(fields) => {
            let (flavour, spacing) = format.document_json.of_updated_fields();
            form.there();
            form.document(fields, flavour, spacing)?;
        }
        None => form.null(),
    }
    form.literal(br#","truncatedArrays":"#);
    write_list(form, update.truncated_arrays, |form, element| {
        write_truncated(form, element)
    })?;
    form.literal(b"}");
    Ok(())
}

/// A list that is empty is null, as in Debezium.
fn write_list<F: Form>(
    form: &mut F,
    list: Option<Document<'_>>,
    write: impl Fn(&mut F, &Element<'_>) -> Result<(), BsonError>,
) -> Result<(), BsonError> {
    let mut is_empty = true;
    if let Some(list) = list {
        let mut elements = list.elements();
        while let Some(element) = elements.read()? {
            if is_empty {
                form.there();
                form.open_list();
            }
            form.next(is_empty);
            is_empty = false;
            write(form, &element)?;
        }
    }
    if is_empty {
        form.null();
    } else {
        form.close_list();
    }
    Ok(())
}

fn write_truncated<F: Form>(form: &mut F, element: &Element<'_>) -> Result<(), BsonError> {
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
    form.literal(br#"{"field":"#);
    form.text(field);
    form.literal(br#","size":"#);
    form.number(new_size);
    form.literal(b"}");
    Ok(())
}
