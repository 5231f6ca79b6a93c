//! `MongoEventRouter`: documents of an outbox collection as the events that they contain.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;
use event_encoding::schema_ids::MessagePart;

use super::document_json::{DocumentForm, adjusted, write_value};
use super::fields::{Content, Field, write_object};
use super::indented_json::indented;
use super::typed_message::{Root, TypedMessage};
use super::typed_writer::write_untyped;
use crate::bson::{Document, Element, Value};
use crate::change::{Change, Operation};
use crate::error::{Problem, Result};
use crate::extras::{Extras, Header};
use crate::format::{Encoding, EventFormat};
use crate::json::{
    Flavour, is_calendar_date, lower_hex, write_date, write_decimal128, write_document,
    write_double,
};
use crate::shape_cache::TopicShapes;

/// The schema of `after` in Debezium, by which those of its documents are named.
const AFTER: &str = "io.debezium.data.Json";
const AFTER_PACKAGE: &str = "io.debezium.data";
const AFTER_NAME: &str = "Json";

/// Where an additional field goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    Header,
    /// A member of the value, beside `payload`.
    Envelope,
    /// The number of the Kafka partition.
    Partition,
}

/// A field of `collection.fields.additional.placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdditionalField {
    pub field: String,
    pub placement: Placement,
    pub alias: String,
}

/// The options of the transformation: names of fields, and what becomes of other documents.
#[allow(
    clippy::struct_excessive_bools,
    reason = "Debezium's options, in one place"
)]
#[derive(Debug, Clone)]
pub struct EventRouter {
    pub id: String,
    pub key: String,
    pub payload: String,
    /// The field with the time of the message; `None`: the time of publication.
    pub timestamp: Option<String>,
    pub route_by: String,
    /// Whether a payload that is a document becomes an object; otherwise a string with its JSON.
    pub expands_payload: bool,
    /// Whether a message without a payload has no value.
    pub tombstones: bool,
    /// Whether an update is rejected; otherwise it is skipped.
    pub rejects_updates: bool,
    pub additional: Vec<AdditionalField>,
    /// Whether messages may lack additional fields.
    pub ignores_missing: bool,
}

impl EventRouter {
    /// The document of a change that has a message.
    pub(crate) fn document<'b>(&self, change: &Change<'b>) -> Result<Option<Document<'b>>> {
        match change.operation {
            Operation::Insert | Operation::Read => Ok(change.after),
            Operation::Update | Operation::Replace if self.rejects_updates => {
                Err(Problem::OutboxUpdate.at(0))
            }
            _ => Ok(None),
        }
    }

    /// The value by which the topic is chosen.
    pub(crate) fn route<'b>(&self, document: Document<'b>) -> Result<Cow<'b, [u8]>> {
        let element = find(document, &self.route_by)?;
        let wrong = || Problem::OutboxText {
            field: self.route_by.clone(),
        };
        text_of(&element.value).ok_or_else(|| wrong().at(element.offset))
    }

    pub(crate) fn write_key(
        &self,
        out: &mut Vec<u8>,
        document: Document<'_>,
        format: &EventFormat,
        shapes: TopicShapes<'_>,
    ) -> Result<()> {
        let element = find(document, &self.key)?;
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
        let field = field(&self.key, &self.key, Content::Value(element.value), &form);
        message.write(out, &[field], |_, _| Ok(()))
    }

    /// Appends nothing for a message without a value.
    pub(crate) fn write_value(
        &self,
        out: &mut Vec<u8>,
        document: Document<'_>,
        format: &EventFormat,
        shapes: TopicShapes<'_>,
    ) -> Result<()> {
        let payload = find(document, &self.payload)?;
        if self.tombstones && is_empty(&payload.value) {
            return Ok(());
        }
        let form = form(format.value);
        let content = self.payload(&payload)?;
        let payload = field("payload", &self.payload, content, &form);
        let mut fields = vec![payload];
        let has_envelope = self.placed(Placement::Envelope).next().is_some();
        for of in self.placed(Placement::Envelope) {
            if let Some(element) = self.find_additional(document, of)? {
                let content = Content::Value(element.value);
                fields.push(field(&of.alias, &of.field, content, &form));
            }
        }
        if format.value == Encoding::Json {
            return match fields.as_slice() {
                [payload] if !has_envelope => write_untyped(out, payload, &form),
                fields => write_object(out, fields, |out, field| write_untyped(out, field, &form)),
            };
        }
        let mut name = String::new();
        if has_envelope {
            let route = self.route(document)?;
            let parts = [AFTER_PACKAGE, &String::from_utf8_lossy(&route), AFTER_NAME].join(".");
            let parts: Vec<_> = parts
                .split('.')
                .map(|part| form.names.adjust(part))
                .collect();
            name = parts.join(".");
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
        message.write(out, &fields, |_, _| Ok(()))
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

    /// Headers, time and partition of the message.
    pub(crate) fn extras(&self, document: Document<'_>, message: usize) -> Result<Extras> {
        let mut headers = Vec::new();
        let id = find(document, &self.id)?;
        headers.extend(header("id", &id.value)?);
        for field in self.placed(Placement::Header) {
            if let Some(element) = self.find_additional(document, field)? {
                headers.extend(header(&field.alias, &element.value)?);
            }
        }
        let mut partition = None;
        for field in self.placed(Placement::Partition) {
            if let Some(element) = self.find_additional(document, field)? {
                partition = Some(partition_of(field, &element)?);
            }
        }
        Ok(Extras {
            message,
            headers,
            timestamp_ms: self.timestamp(document)?,
            partition,
        })
    }

    fn timestamp(&self, document: Document<'_>) -> Result<Option<i64>> {
        let Some(name) = &self.timestamp else {
            return Ok(None);
        };
        let element = find(document, name)?;
        match element.value {
            Value::Null => Ok(None),
            Value::Int64(time) | Value::DateTime(time) if time >= 0 => Ok(Some(time)),
            _ => {
                let field = name.clone();
                Err(Problem::OutboxNumber { field }.at(element.offset))
            }
        }
    }

    fn placed(&self, placement: Placement) -> impl Iterator<Item = &AdditionalField> {
        let all = self.additional.iter();
        all.filter(move |field| field.placement == placement)
    }

    fn find_additional<'b>(
        &self,
        document: Document<'b>,
        field: &AdditionalField,
    ) -> Result<Option<Element<'b>>> {
        let found = document.find(field.field.as_bytes())?;
        if found.is_none() && !self.ignores_missing {
            return find(document, &field.field).map(Some);
        }
        Ok(found)
    }
}

fn find<'b>(document: Document<'b>, name: &str) -> Result<Element<'b>> {
    let missing = || Problem::OutboxField {
        field: name.to_owned(),
    };
    let found = document.find(name.as_bytes())?;
    found.ok_or_else(|| missing().at(document.offset()))
}

fn partition_of(field: &AdditionalField, element: &Element<'_>) -> Result<i32> {
    match element.value {
        Value::Int32(number) if number >= 0 => Ok(number),
        _ => {
            let field = field.field.clone();
            Err(Problem::OutboxNumber { field }.at(element.offset))
        }
    }
}

/// A field of the message; schemas are named by that of the document.
fn field<'b>(
    name: &'b str,
    key: &'b str,
    content: Content<'b>,
    form: &DocumentForm<'_>,
) -> Field<'b> {
    Field {
        key: adjusted(key.as_bytes(), form.names),
        ..Field::new(adjusted(name.as_bytes(), form.names), content)
    }
}

/// The form of documents. Avro has only adjusted names.
fn form(encoding: Encoding) -> DocumentForm<'static> {
    DocumentForm {
        names: match encoding {
            Encoding::Avro => NameAdjustment::Avro,
            _ => NameAdjustment::None,
        },
        ..DocumentForm::default()
    }
}

/// Null, or blank text.
fn is_empty(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.iter().all(|byte| *byte <= b' '),
        _ => false,
    }
}

/// Types that Debezium converts to text.
fn text_of<'b>(value: &Value<'b>) -> Option<Cow<'b, [u8]>> {
    let mut text = Vec::new();
    match value {
        Value::String(text) | Value::Code(text) | Value::Symbol(text) => {
            return Some(Cow::Borrowed(text));
        }
        Value::ObjectId(id) => text.extend(id.iter().flat_map(|byte| lower_hex(*byte))),
        Value::Decimal128(bits) => write_decimal128(&mut text, *bits),
        _ => return None,
    }
    Some(Cow::Owned(text))
}

/// A header as Connect's `SimpleHeaderConverter` writes it; documents and arrays as JSON. Null is no
/// header.
fn header(name: &str, value: &Value<'_>) -> Result<Option<Header>> {
    let mut text = Vec::new();
    match value {
        Value::Null | Value::Undefined => return Ok(None),
        Value::DateTime(millis) => write_time(&mut text, *millis),
        Value::Timestamp(time) => write_time(&mut text, i64::from(time.seconds) * 1000),
        Value::Binary { bytes, .. } => base64_simd::STANDARD.encode_append(bytes, &mut text),
        Value::Double(number) => write_double(&mut text, *number),
        value => match text_of(value) {
            Some(found) => text = found.into_owned(),
            None => write_value(&mut text, *value, &DocumentForm::default(), 1)?,
        },
    }
    Ok(Some(Header {
        name: name.into(),
        value: text.into(),
    }))
}

/// A time as Connect's `Values` writes it, if extended JSON has a text for it; else milliseconds.
fn write_time(out: &mut Vec<u8>, millis: i64) {
    const DAY_MS: i64 = 86_400_000;
    if !is_calendar_date(millis) {
        out.extend_from_slice(itoa::Buffer::new().format(millis).as_bytes());
        return;
    }
    let mut text = Vec::new();
    write_date(&mut text, millis);
    let text = String::from_utf8(text).unwrap_or_default();
    let (date, _) = text.split_once('T').unwrap_or_default();
    let of_day = millis.rem_euclid(DAY_MS);
    let (seconds, fraction) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = format!("{hour:02}:{minute:02}:{second:02}.{fraction:03}Z");
    let shown = if millis < DAY_MS {
        time
    } else if of_day == 0 {
        date.to_owned()
    } else {
        format!("{date}T{time}")
    };
    out.extend_from_slice(shown.as_bytes());
}
