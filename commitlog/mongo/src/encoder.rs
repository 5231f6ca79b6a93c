//! From raw events or copied documents to a batch of messages.

use commitlog_events::hash::kafka_partition_hash;

use crate::batch::{EventBatch, Kind, MessageEntry, Refused, Topic};
use crate::change::{Change, Copy, Event, Operation};
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::identity::Identity;
use crate::json::{Flavour, Spacing, write_value_in_string};
use crate::layout::write_value;

/// Makes messages; each batch stands for itself.
#[derive(Debug, Clone)]
pub struct Encoder {
    format: EventFormat,
}

impl Encoder {
    pub fn new(format: EventFormat) -> Self {
        Self { format }
    }

    pub fn format(&self) -> &EventFormat {
        &self.format
    }

    /// Events of a change stream, in its order, published at a time (nanoseconds).
    pub fn encode<'b>(&self, events: impl IntoIterator<Item = &'b [u8]>, at_ns: i64) -> EventBatch {
        let mut filling = Filling::new(&self.format, at_ns);
        for bytes in events {
            let event = Event::parse(bytes);
            filling.add(event);
        }
        filling.batch
    }

    /// Copied documents of one collection.
    pub fn encode_copied<'b>(
        &self,
        documents: impl IntoIterator<Item = &'b [u8]>,
        copy: &Copy<'b>,
        at_ns: i64,
    ) -> EventBatch {
        let mut filling = Filling::new(&self.format, at_ns);
        for bytes in documents {
            filling.add(Change::of_copy(bytes, copy).map(Event::Change));
        }
        filling.batch
    }
}

/// A batch in the making.
struct Filling<'f> {
    format: &'f EventFormat,
    at_ns: i64,
    batch: EventBatch,
    identity: Identity,
    /// That of the event before.
    topic: usize,
}

impl<'f> Filling<'f> {
    fn new(format: &'f EventFormat, at_ns: i64) -> Self {
        Self {
            format,
            at_ns,
            batch: EventBatch::default(),
            identity: Identity::default(),
            topic: 0,
        }
    }

    fn add(&mut self, event: Result<Event<'_>, BsonError>) {
        let start = self.batch.bytes.len();
        let added = event.and_then(|event| match event {
            Event::Change(change) => self.add_change(&change),
            Event::Other { operation } => {
                let operation = String::from_utf8_lossy(operation).into_owned();
                *self.batch.skipped.entry(operation).or_default() += 1;
                Ok(())
            }
        });
        if let Err(error) = added {
            self.batch.bytes.truncate(start);
            let event = self.batch.events;
            self.batch.refused.push(Refused { event, error });
        }
        self.batch.events = self.batch.events.saturating_add(1);
    }

    fn add_change(&mut self, change: &Change<'_>) -> Result<(), BsonError> {
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        write_key(out, change)?;
        let value_start = out.len();
        write_value(out, change, self.format, self.at_ns)?;
        let value_end = out.len();
        let key = out.get(key_start..value_start).unwrap_or_default();
        let partition_hash = kafka_partition_hash(key);
        let entry = MessageEntry {
            topic: self.topic_of(change),
            key_start,
            value_start,
            value_end,
            id: self.identity.of_change(change),
            kind: change.operation.into(),
            timestamp_us: change.source_ms.saturating_mul(1000),
            cluster_time: change.cluster_time,
            partition_hash,
            event: self.batch.events,
        };
        self.batch.entries.push(entry);
        if change.operation == Operation::Delete && self.format.tombstones {
            self.batch.entries.push(MessageEntry {
                kind: Kind::Tombstone,
                id: self.identity.of_tombstone(change),
                ..entry
            });
        }
        Ok(())
    }

    fn topic_of(&mut self, change: &Change<'_>) -> usize {
        let is_same = |topic: &Topic| {
            *topic.collection == *change.collection && *topic.database == *change.database
        };
        let topics = &mut self.batch.topics;
        if !topics.get(self.topic).is_some_and(is_same) {
            self.topic = topics.iter().position(is_same).unwrap_or_else(|| {
                topics.push(Topic {
                    database: change.database.into(),
                    collection: change.collection.into(),
                    name: topic_name(self.format, change),
                });
                topics.len().saturating_sub(1)
            });
        }
        self.topic
    }
}

/// `{"id":"<relaxed JSON of _id>"}`
fn write_key(out: &mut Vec<u8>, change: &Change<'_>) -> Result<(), BsonError> {
    out.extend_from_slice(br#"{"id":""#);
    write_value_in_string(out, &change.id, Flavour::Relaxed, Spacing::Compact)?;
    out.extend_from_slice(br#""}"#);
    Ok(())
}

/// `prefix.database.collection`, with `_` for characters that Kafka does not allow.
fn topic_name(format: &EventFormat, change: &Change<'_>) -> String {
    let database = String::from_utf8_lossy(change.database);
    let collection = String::from_utf8_lossy(change.collection);
    let name = format!("{}.{database}.{collection}", format.topic_prefix);
    let allowed = |character: char| {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-') {
            character
        } else {
            '_'
        }
    };
    name.chars().map(allowed).collect()
}
