//! Writes the key and value of a change in their wire format.

use std::sync::Arc;

use crate::bson::Document;
use crate::change::{Change, Event, Operation};
use crate::error::Result;
use crate::fields::{Rule, rewrite_document, rewrite_event};
use crate::format::Encoding;
use crate::json::Flavour;
use crate::layout::{ValueContext, write_value};
use crate::shape_cache::TopicShapes;
use crate::transform::ExtractDocument;
use crate::value_writer::{AvroWriter, JsonWriter, ValueWriter};
use crate::wire_format::WireFormat;

/// Facts of a message apart from the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageContext<'s> {
    pub value: ValueContext<'s>,
    /// The transformation of the collection, and the schemas of its messages.
    pub extraction: Option<(&'s ExtractDocument, TopicShapes<'s>)>,
}

/// `{"id":"<relaxed JSON of _id>"}`
pub(crate) fn write_key(
    out: &mut Vec<u8>,
    wire_format: &WireFormat,
    change: &Change<'_>,
    context: &MessageContext<'_>,
) -> Result<()> {
    fn write<F: ValueWriter>(writer: &mut F, change: &Change<'_>) -> Result<()> {
        writer.literal(br#"{"id":"#);
        writer.element(&change.id, Flavour::Relaxed)?;
        writer.literal(b"}");
        Ok(())
    }
    if let Some((extraction, shapes)) = context.extraction {
        return extraction.write_key(out, change, context.value.format, shapes);
    }
    out.extend_from_slice(&wire_format.start);
    match context.value.format.key {
        Encoding::Avro => write(&mut AvroWriter::new(out), change)?,
        json => write(&mut JsonWriter::new(out, json), change)?,
    }
    out.extend_from_slice(wire_format.end);
    Ok(())
}

/// Writes the value without field rules.
pub(crate) fn write_value_of(
    out: &mut Vec<u8>,
    wire_format: &WireFormat,
    change: &Change<'_>,
    context: &MessageContext<'_>,
) -> Result<()> {
    if let Some((extraction, shapes)) = context.extraction {
        return extraction.write_value(out, change, &context.value, shapes);
    }
    out.extend_from_slice(&wire_format.start);
    match context.value.format.value {
        Encoding::Avro => write_value(&mut AvroWriter::new(out), change, &context.value)?,
        json => write_value(&mut JsonWriter::new(out, json), change, &context.value)?,
    }
    out.extend_from_slice(wire_format.end);
    Ok(())
}

/// Applies field rules and writes the value. Offsets of errors refer to the rewritten bytes, so
/// after an error the original is written again to find the offset there.
pub(crate) fn write_value_with_rules(
    out: &mut Vec<u8>,
    wire_format: &WireFormat,
    change: &Change<'_>,
    rules: &[Arc<Rule>],
    context: &MessageContext<'_>,
) -> Result<()> {
    let written = if change.operation == Operation::Read {
        rewrite_document(rules, change.raw).and_then(|bytes| {
            let document = Document::parse(&bytes)?;
            let ruled = Change {
                after: Some(document),
                raw: document,
                ..*change
            };
            write_value_of(out, wire_format, &ruled, context)
        })
    } else {
        rewrite_event(rules, change.raw).and_then(|bytes| match Event::parse(&bytes)? {
            Event::Change(ruled) => write_value_of(out, wire_format, &ruled, context),
            Event::Ddl(_) => Ok(()),
        })
    };
    written.map_err(|error| {
        let plain = write_value_of(&mut Vec::new(), wire_format, change, context);
        plain.err().unwrap_or(error)
    })
}
