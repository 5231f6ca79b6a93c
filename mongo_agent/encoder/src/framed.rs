//! Key and value of a change of a document, with what stands around them.

use std::sync::Arc;

use crate::bson::Document;
use crate::change::{Change, Event, Operation};
use crate::error::BsonError;
use crate::fields::{Rule, rewrite_document, rewrite_event};
use crate::form::{Avro, Form, Json};
use crate::format::Encoding;
use crate::frame::Frame;
use crate::json::{Flavour, Spacing};
use crate::layout::{Setting, write_value};

/// `{"id":"<relaxed JSON of _id>"}`
pub(crate) fn write_key(
    out: &mut Vec<u8>,
    frame: &Frame,
    change: &Change<'_>,
    encoding: Encoding,
) -> Result<(), BsonError> {
    fn write<F: Form>(form: &mut F, change: &Change<'_>) -> Result<(), BsonError> {
        form.literal(br#"{"id":"#);
        form.element(&change.id, Flavour::Relaxed, Spacing::Compact)?;
        form.literal(b"}");
        Ok(())
    }
    out.extend_from_slice(&frame.start);
    match encoding {
        Encoding::Avro => write(&mut Avro::new(out), change)?,
        json => write(&mut Json::new(out, json), change)?,
    }
    out.extend_from_slice(frame.end);
    Ok(())
}

/// The value.
pub(crate) fn write_framed(
    out: &mut Vec<u8>,
    frame: &Frame,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    out.extend_from_slice(&frame.start);
    match setting.format.value {
        Encoding::Avro => write_value(&mut Avro::new(out), change, setting)?,
        json => write_value(&mut Json::new(out, json), change, setting)?,
    }
    out.extend_from_slice(frame.end);
    Ok(())
}

/// The value of what the rules leave of a change. The bytes that they read anew have other places, so what is
/// wrong in them is looked for in those that were given.
pub(crate) fn write_ruled(
    out: &mut Vec<u8>,
    frame: &Frame,
    change: &Change<'_>,
    rules: &[Arc<Rule>],
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let written = if change.operation == Operation::Read {
        rewrite_document(rules, change.raw).and_then(|bytes| {
            let document = Document::parse(&bytes)?;
            let ruled = Change {
                after: Some(document),
                raw: document,
                ..*change
            };
            write_framed(out, frame, &ruled, setting)
        })
    } else {
        rewrite_event(rules, change.raw).and_then(|bytes| match Event::parse(&bytes)? {
            Event::Change(ruled) => write_framed(out, frame, &ruled, setting),
            Event::Other(_) => Ok(()),
        })
    };
    written.map_err(|error| {
        let plain = write_framed(&mut Vec::new(), frame, change, setting);
        plain.err().unwrap_or(error)
    })
}
