//! Writes the keys and values of outbox messages.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;
use event_encoding::schema_ids::MessagePart;

use super::document_json::{DocumentForm, adjust, write_value};
use super::event_router::{EventRouter, Placement, find};
use super::fields::{Content, Field, write_object};
use super::indented_json::indented;
use super::outbox_converter::Written;
use super::typed_message::{Root, TypedMessage};
use super::typed_writer::write_untyped;
use crate::bson::{Document, Element, Value};
use crate::error::{Problem, Result};
use crate::format::{Encoding, EventFormat, adjust_path, names_in};
use crate::json::{Flavour, write_document};
use crate::shape_cache::TopicShapes;

/// Debezium's name for the schema of `after`, with which the schema names of its documents begin.
const AFTER: &str = "io.debezium.data.Json";
const AFTER_PACKAGE: &str = "io.debezium.data";
const AFTER_NAME: &str = "Json";

impl EventRouter {
    pub(crate) fn write_key(
        &self,
        out: &mut Vec<u8>,
        document: Document<'_>,
        format: &EventFormat,
        shapes: TopicShapes<'_>,
    ) -> Result<()> {
        let element = find(document, &self.key)?;
        let content = Content::Value(element.value);
        match self.key_converter.write(out, &content, &self.key)? {
            Written::Value => return Ok(()),
            Written::Null => {
                let field = self.key.clone();
                return Err(Problem::OutboxText { field }.at_offset(element.offset));
            }
            Written::ByEncoding => {}
        }
        if format.key == Encoding::Json {
            return write_value(out, element.value, &DocumentForm::default(), 1);
        }
        let form = form(format.key);
        let message = TypedMessage {
            part: MessagePart::Key,
            root: Root::Field,
            path: AFTER,
            form: &form,
            format,
            shapes,
        };
        let field = field(&self.key, &self.key, content, &form);
        message.write(out, &[field], |_, _| Ok(()))
    }

    /// Writes the value. Returns false for a message without a value.
    pub(crate) fn write_value(
        &self,
        out: &mut Vec<u8>,
        document: Document<'_>,
        format: &EventFormat,
        shapes: TopicShapes<'_>,
    ) -> Result<bool> {
        let payload = find(document, &self.payload)?;
        if self.tombstones && is_empty(&payload.value) {
            return Ok(false);
        }
        let form = form(format.value);
        let content = self.payload(&payload)?;
        let has_envelope = self.fields_in(Placement::Envelope).next().is_some();
        if !has_envelope {
            match self.value_converter.write(out, &content, &self.payload)? {
                Written::ByEncoding => {}
                written => return Ok(written == Written::Value),
            }
        }
        let payload = field("payload", &self.payload, content, &form);
        let mut fields = vec![payload];
        for additional in self.fields_in(Placement::Envelope) {
            if let Some(element) = self.find_additional(document, additional)? {
                let content = Content::Value(element.value);
                fields.push(field(&additional.alias, &additional.field, content, &form));
            }
        }
        if format.value == Encoding::Json {
            match fields.as_slice() {
                [payload] if !has_envelope => write_untyped(out, payload, &form)?,
                fields => write_object(out, fields, |out, field| write_untyped(out, field, &form))?,
            }
            return Ok(true);
        }
        let mut name = String::new();
        if has_envelope {
            let route = self.route(document)?;
            let path = [AFTER_PACKAGE, &String::from_utf8_lossy(&route), AFTER_NAME].join(".");
            name = adjust_path(&path, |part| form.names.adjust(part));
        }
        let message = TypedMessage {
            part: MessagePart::Value,
            root: if has_envelope {
                Root::Struct(Some(&name))
            } else {
                Root::Field
            },
            path: AFTER,
            form: &form,
            format,
            shapes,
        };
        message.write(out, &fields, |_, _| Ok(()))?;
        Ok(true)
    }

    fn payload<'b>(&self, payload: &Element<'b>) -> Result<Content<'b>> {
        match payload.value {
            Value::Document(document) if !self.expands_payload => {
                let mut json = Vec::new();
                write_document(&mut json, document, Flavour::Canonical)?;
                Ok(Content::Text(Cow::Owned(indented(&json))))
            }
            value => Ok(Content::Value(value)),
        }
    }
}

/// Creates a field of the message. Its schema is named by `key`, the field of the document.
fn field<'b>(
    name: &'b str,
    key: &'b str,
    content: Content<'b>,
    form: &DocumentForm<'_>,
) -> Field<'b> {
    Field {
        key: adjust(key.as_bytes(), form.names),
        ..Field::new(adjust(name.as_bytes(), form.names), content)
    }
}

/// Returns the options for writing documents.
fn form(encoding: Encoding) -> DocumentForm<'static> {
    DocumentForm {
        names: names_in(encoding, NameAdjustment::None),
        ..DocumentForm::default()
    }
}

/// Whether a value is null or blank text.
fn is_empty(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.iter().all(|byte| *byte <= b' '),
        _ => false,
    }
}
