//! `MongoEventRouter`: publishes the events that the documents of an outbox collection contain.

use std::borrow::Cow;

use super::outbox_converter::OutboxConverter;
use super::text_form::{plain_text, text_of};
use crate::bson::{Document, Element, Value};
use crate::change::{Change, Operation};
use crate::error::{Problem, Result};
use crate::extras::{Extras, Header};

/// Where an additional field goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    Header,
    /// A member of the value, next to `payload`.
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

/// The options of the transformation: names of fields and the handling of special cases.
#[allow(
    clippy::struct_excessive_bools,
    reason = "Debezium's options, in one place"
)]
#[derive(Debug, Clone)]
pub struct EventRouter {
    pub id: String,
    pub key: String,
    pub payload: String,
    /// The field with the message's timestamp, or `None` for the time of publication.
    pub timestamp: Option<String>,
    pub route_by: String,
    /// Whether a payload that is a document is written as an object instead of a JSON string.
    pub expands_payload: bool,
    /// Whether an empty payload produces a message without a value.
    pub tombstones: bool,
    /// Whether updates are rejected instead of skipped.
    pub rejects_updates: bool,
    pub additional: Vec<AdditionalField>,
    /// Whether additional fields may be missing from documents.
    pub ignores_missing: bool,
    pub key_converter: OutboxConverter,
    pub value_converter: OutboxConverter,
}

impl EventRouter {
    /// Returns the document of a change, or `None` if the change produces no message.
    pub(crate) fn document<'b>(&self, change: &Change<'b>) -> Result<Option<Document<'b>>> {
        match change.operation {
            Operation::Insert | Operation::Read => Ok(change.after),
            Operation::Update | Operation::Replace if self.rejects_updates => {
                Err(Problem::OutboxUpdate.at_offset(0))
            }
            _ => Ok(None),
        }
    }

    /// Returns the value that selects the topic.
    pub(crate) fn route<'b>(&self, document: Document<'b>) -> Result<Cow<'b, [u8]>> {
        let element = find(document, &self.route_by)?;
        let wrong = || Problem::OutboxText {
            field: self.route_by.clone(),
        };
        text_of(&element.value).ok_or_else(|| wrong().at_offset(element.offset))
    }

    /// Returns the headers, timestamp and partition of the message.
    pub(crate) fn extras(&self, document: Document<'_>, message: usize) -> Result<Extras> {
        let mut headers = Vec::new();
        let id = find(document, &self.id)?;
        headers.extend(header("id", &id.value)?);
        for field in self.fields_in(Placement::Header) {
            if let Some(element) = self.find_additional(document, field)? {
                headers.extend(header(&field.alias, &element.value)?);
            }
        }
        let mut partition = None;
        for field in self.fields_in(Placement::Partition) {
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
                Err(Problem::OutboxNumber { field }.at_offset(element.offset))
            }
        }
    }

    pub(super) fn fields_in(&self, placement: Placement) -> impl Iterator<Item = &AdditionalField> {
        let all = self.additional.iter();
        all.filter(move |field| field.placement == placement)
    }

    pub(super) fn find_additional<'b>(
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

pub(super) fn find<'b>(document: Document<'b>, name: &str) -> Result<Element<'b>> {
    let missing = || Problem::OutboxField {
        field: name.to_owned(),
    };
    let found = document.find(name.as_bytes())?;
    found.ok_or_else(|| missing().at_offset(document.offset()))
}

fn partition_of(field: &AdditionalField, element: &Element<'_>) -> Result<i32> {
    match element.value {
        Value::Int32(number) if number >= 0 => Ok(number),
        _ => {
            let field = field.field.clone();
            Err(Problem::OutboxNumber { field }.at_offset(element.offset))
        }
    }
}

/// Returns `None` for null, which adds no header.
fn header(name: &str, value: &Value<'_>) -> Result<Option<Header>> {
    if matches!(value, Value::Null | Value::Undefined) {
        return Ok(None);
    }
    Ok(Some(Header {
        name: name.into(),
        value: plain_text(value)?.into(),
    }))
}
