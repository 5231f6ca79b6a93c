//! A batch in the making.

use commitlog_events::hash::kafka_partition_hash;

use crate::batch::{EventBatch, Kind, MessageEntry, NOT_CAPTURED, Refused};
use crate::change::{Change, Event, Operation};
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::identity::Identity;
use crate::json::{Flavour, Spacing, write_value_in_string};
use crate::layout::write_value;
use crate::namespaces::{Captures, Namespaces};

pub(crate) struct Filling<'f> {
    format: &'f EventFormat,
    at_ns: i64,
    batch: EventBatch,
    identity: Identity,
    namespaces: Namespaces,
}

impl<'f> Filling<'f> {
    pub(crate) fn new(format: &'f EventFormat, at_ns: i64) -> Self {
        Self {
            format,
            at_ns,
            batch: EventBatch::default(),
            identity: Identity::default(),
            namespaces: Namespaces::default(),
        }
    }

    pub(crate) fn into_batch(self) -> EventBatch {
        self.batch
    }

    /// An error is that of `captures`.
    pub(crate) fn add<C: Captures>(
        &mut self,
        event: Result<Event<'_>, BsonError>,
        captures: &mut C,
    ) -> Result<(), C::Error> {
        let start = self.batch.bytes.len();
        let added = match event {
            Ok(Event::Change(change)) => {
                let found = self
                    .namespaces
                    .find(change.database, change.collection, captures)?;
                match self.reason_to_skip(&change, found) {
                    Some(reason) => {
                        self.skip(reason);
                        Ok(())
                    }
                    None => self.add_change(&change, found),
                }
            }
            Ok(Event::Other { operation }) => {
                self.skip(&String::from_utf8_lossy(operation));
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = added {
            self.batch.bytes.truncate(start);
            let event = self.batch.events;
            self.batch.refused.push(Refused { event, error });
        }
        self.batch.events = self.batch.events.saturating_add(1);
        Ok(())
    }

    fn reason_to_skip(&self, change: &Change<'_>, namespace: usize) -> Option<&'static str> {
        let is_captured = |number| self.namespaces.get(number).is_some_and(|of| of.is_captured);
        let operation = change.operation;
        if !is_captured(namespace) {
            Some(NOT_CAPTURED)
        } else if self.format.skipped_operations.contains(&operation.letter()) {
            Some(operation.name())
        } else {
            None
        }
    }

    fn skip(&mut self, reason: &str) {
        match self.batch.skipped.get_mut(reason) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.batch.skipped.insert(reason.to_owned(), 1);
            }
        }
    }

    fn add_change(&mut self, change: &Change<'_>, namespace: usize) -> Result<(), BsonError> {
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        write_key(out, change)?;
        let value_start = out.len();
        write_value(out, change, self.format, self.at_ns)?;
        let value_end = out.len();
        let key = out.get(key_start..value_start).unwrap_or_default();
        let partition_hash = kafka_partition_hash(key);
        let name = (change.database, change.collection);
        let topics = &mut self.batch.topics;
        let entry = MessageEntry {
            topic: self.namespaces.topic(namespace, topics, self.format, name),
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
}

/// `{"id":"<relaxed JSON of _id>"}`
fn write_key(out: &mut Vec<u8>, change: &Change<'_>) -> Result<(), BsonError> {
    out.extend_from_slice(br#"{"id":""#);
    write_value_in_string(out, &change.id, Flavour::Relaxed, Spacing::Compact)?;
    out.extend_from_slice(br#""}"#);
    Ok(())
}
