//! Writes members that the envelopes of several Debezium releases share.

use crate::bson::{Document, Element, Value};
use crate::change::{Change, Operation, UpdateDescription};
use crate::element::{integer, text};
use crate::error::Result;
use crate::format::EventFormat;
use crate::value_writer::ValueWriter;

pub(crate) fn write_optional<F: ValueWriter + ?Sized>(writer: &mut F, number: Option<i64>) {
    match number {
        Some(number) => {
            writer.present();
            writer.number(number);
        }
        None => writer.null(),
    }
}

/// `"before":…,"after":…`
pub(super) fn write_images<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<()> {
    writer.literal(br#""before":"#);
    write_document(writer, change.before, format)?;
    writer.literal(br#","after":"#);
    write_document(writer, change.after, format)
}

/// `,"op":…,"ts_ms":…`; `at_ns` is in nanoseconds.
pub(super) fn write_operation<F: ValueWriter>(writer: &mut F, operation: Operation, at_ns: i64) {
    writer.literal(br#","op":"#);
    writer.present();
    writer.plain(operation.letter());
    writer.literal(br#","ts_ms":"#);
    write_optional(writer, Some(at_ns.div_euclid(1_000_000)));
}

/// Writes a document as a JSON string, or null.
pub(super) fn write_document<F: ValueWriter>(
    writer: &mut F,
    document: Option<Document<'_>>,
    format: &EventFormat,
) -> Result<()> {
    let Some(document) = document else {
        writer.null();
        return Ok(());
    };
    let flavour = format.document_json.of_documents();
    writer.present();
    writer.document(document, flavour)
}

/// `"updateDescription":…`
pub(super) fn write_update<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<()> {
    writer.literal(br#""updateDescription":"#);
    if let Some(update) = &change.update {
        return write_description(writer, update, format);
    }
    writer.null();
    Ok(())
}

pub(crate) fn write_description<F: ValueWriter>(
    writer: &mut F,
    update: &UpdateDescription<'_>,
    format: &EventFormat,
) -> Result<()> {
    writer.present();
    writer.literal(br#"{"removedFields":"#);
    write_removed(writer, update)?;
    writer.literal(br#","updatedFields":"#);
    write_updated(writer, update, format)?;
    writer.literal(br#","truncatedArrays":"#);
    write_all_truncated(writer, update)?;
    writer.literal(b"}");
    Ok(())
}

pub(crate) fn write_removed<F: ValueWriter>(
    writer: &mut F,
    update: &UpdateDescription<'_>,
) -> Result<()> {
    write_list(writer, update.removed_fields, |writer, element| {
        writer.text(text(element, "removedFields")?);
        Ok(())
    })
}

pub(crate) fn write_updated<F: ValueWriter>(
    writer: &mut F,
    update: &UpdateDescription<'_>,
    format: &EventFormat,
) -> Result<()> {
    match update.updated_fields {
        Some(fields) => {
            let flavour = format.document_json.of_updated_fields();
            writer.present();
            writer.document(fields, flavour)?;
        }
        None => writer.null(),
    }
    Ok(())
}

pub(crate) fn write_all_truncated<F: ValueWriter>(
    writer: &mut F,
    update: &UpdateDescription<'_>,
) -> Result<()> {
    write_list(writer, update.truncated_arrays, |writer, element| {
        let (field, new_size) = read_truncated(element)?;
        writer.literal(br#"{"field":"#);
        writer.text(field);
        writer.literal(br#","size":"#);
        writer.number(new_size);
        writer.literal(b"}");
        Ok(())
    })
}

/// Writes a list. As in Debezium, an empty list is null.
fn write_list<F: ValueWriter>(
    writer: &mut F,
    list: Option<Document<'_>>,
    write: impl Fn(&mut F, &Element<'_>) -> Result<()>,
) -> Result<()> {
    let mut is_empty = true;
    if let Some(list) = list {
        let mut elements = list.elements();
        while let Some(element) = elements.read()? {
            if is_empty {
                writer.present();
                writer.open_list();
            }
            writer.item(is_empty);
            is_empty = false;
            write(writer, &element)?;
        }
    }
    if is_empty {
        writer.null();
    } else {
        writer.close_list();
    }
    Ok(())
}

/// Returns the field and the new size of an element of `truncatedArrays`.
pub(super) fn read_truncated<'b>(element: &Element<'b>) -> Result<(&'b [u8], i64)> {
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
    Ok((field, new_size))
}
