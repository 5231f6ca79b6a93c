//! Adds events one by one to a batch.

mod ddl;
mod outbox;
mod transactions;

use std::cell::RefCell;
use std::collections::HashMap;

use event_encoding::partition_hash::kafka_partition_hash;
use event_encoding::schema_ids::UnregisteredSchema;

use crate::batch::{EncodingFailure, Kind, MessageBatch, MessageEntry, NOT_CAPTURED};
use crate::bson::Timestamp;
use crate::change::{Change, Event, Operation, Transaction};
use crate::error::{Problem, Result};
use crate::extras::{Extras, Header};
use crate::format::EventFormat;
use crate::identity::Identity;
use crate::layout::ValueContext;
use crate::message_writer::{MessageContext, write_key, write_value_of, write_value_with_rules};
use crate::namespaces::{Namespaces, Routing};
use crate::schemas::Record;
use crate::shape_cache::{ShapeCache, TopicShapes};
use crate::topic::Topic;
use crate::transaction::{OpenTransaction, Transactions};
use crate::transform::{Outcome, Transform};
use crate::wire_format::{SchemaCache, SchemaMissing, TopicFormats};

pub(crate) struct BatchBuilder<'f> {
    format: &'f EventFormat,
    transforms: &'f [Transform],
    schemas: &'f SchemaCache,
    shapes: &'f ShapeCache,
    at_ns: i64,
    batch: MessageBatch,
    /// Wire formats by the index of their topic.
    formats: Vec<Option<TopicFormats>>,
    /// Topics of other messages than documents, with the kind of their record. Documents may have a
    /// topic of the same name; its wire format differs.
    other_topics: Vec<(Record, usize)>,
    identity: Identity,
    namespaces: Namespaces,
    transactions: Transactions,
    /// Topics by collection and value of `route.by.field`.
    routes: HashMap<(usize, Box<str>), usize>,
    /// Id of the transaction of the current event.
    transaction_id: String,
}

/// Facts of a message, apart from its place.
struct Message {
    key_start: usize,
    value_start: usize,
    /// Zero for a change, whose id is set later together with others.
    id: [u8; 16],
    kind: Kind,
    timestamp_us: i64,
    cluster_time: Timestamp,
}

impl<'f> BatchBuilder<'f> {
    pub(crate) fn new(
        format: &'f EventFormat,
        transforms: &'f [Transform],
        schemas: &'f SchemaCache,
        shapes: &'f ShapeCache,
        at_ns: i64,
    ) -> Self {
        Self {
            format,
            transforms,
            schemas,
            shapes,
            at_ns,
            batch: MessageBatch {
                source_start: format!("{}/{}/", format.node_id, format.replica_set),
                ..MessageBatch::default()
            },
            formats: Vec::new(),
            other_topics: Vec::new(),
            identity: Identity::default(),
            namespaces: Namespaces::new(!transforms.is_empty()),
            transactions: Transactions::default(),
            routes: HashMap::new(),
            transaction_id: String::new(),
        }
    }

    /// Continues an open transaction, if the format has transaction metadata.
    pub(crate) fn with_transaction(self, transaction: Option<OpenTransaction>) -> Self {
        let has_topic = self.format.transaction_topic.is_some();
        Self {
            transactions: Transactions::new(transaction.filter(|_| has_topic)),
            ..self
        }
    }

    /// Reserves memory for events of these sizes; reallocation would copy.
    pub(crate) fn with_capacity_for(mut self, sizes: impl Iterator<Item = usize>) -> Self {
        let (events, bytes) = sizes.fold((0_usize, 0_usize), |(events, bytes), size| {
            (events.saturating_add(1), bytes.saturating_add(size))
        });
        self.batch.entries.reserve(events);
        self.batch.bytes.reserve(bytes.saturating_add(bytes / 2));
        self
    }

    pub(crate) fn into_batch(mut self) -> MessageBatch {
        self.identity.finish(&mut self.batch.entries);
        self.batch.transactions = self.transactions.into_timeline();
        self.batch
    }

    /// Fails only if `routing` does.
    pub(crate) fn add<R: Routing>(
        &mut self,
        event: Result<Event<'_>>,
        routing: &mut R,
    ) -> Result<(), R::Error> {
        let start = (self.batch.bytes.len(), self.batch.entries.len());
        let added = match event {
            Ok(Event::Change(change)) => {
                let (database, collection) = (change.database, change.collection);
                let found = self
                    .namespaces
                    .find(database, collection, self.format, routing)?;
                match self.reason_to_skip(&change, found) {
                    Some(reason) => self.skip(reason, change.source.transaction.as_ref()),
                    None => match self.route(&change, found, routing)? {
                        Some(routed) => self.add_routed(&change, found, routed),
                        None => self.add_change(&change, found),
                    },
                }
            }
            Ok(Event::Ddl(event)) => {
                let transaction = event.source.transaction.as_ref();
                if !self.format.publishes_ddl() {
                    let operation = String::from_utf8_lossy(event.operation);
                    self.skip(&operation, transaction)
                } else if self.is_captured(&event, routing)? {
                    self.add_ddl(&event)
                } else {
                    self.skip(NOT_CAPTURED, transaction)
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = added {
            let event = self.batch.events;
            self.batch.bytes.truncate(start.0);
            self.batch.entries.truncate(start.1);
            let extras = &mut self.batch.extras;
            while extras.last().is_some_and(|last| last.message >= start.1) {
                extras.pop();
            }
            self.transactions.rollback(event, &self.batch.topics);
            self.batch.failures.push(EncodingFailure { event, error });
        }
        self.batch.events = self.batch.events.saturating_add(1);
        Ok(())
    }

    fn reason_to_skip(&self, change: &Change<'_>, namespace: usize) -> Option<&'static str> {
        let namespace = self.namespaces.get(namespace);
        let is_captured = namespace.is_some_and(|namespace| namespace.is_captured);
        let operation = change.operation;
        if !is_captured {
            Some(NOT_CAPTURED)
        } else if self.format.skipped_operations.contains(&operation.letter()) {
            Some(operation.name())
        } else {
            None
        }
    }

    /// The topic of other messages than documents; added on first use.
    fn topic(&mut self, record: Record, subject: &str, name: &str) -> usize {
        let topics = &mut self.batch.topics;
        let matches = |topic: &Topic| topic.subject == subject && topic.name == name;
        let own = self.other_topics.iter().filter(|(kind, _)| *kind == record);
        let mut numbers = own.map(|(_, number)| *number);
        if let Some(number) = numbers.find(|number| topics.get(*number).is_some_and(matches)) {
            return number;
        }
        let number = topics.len();
        topics.push(Topic {
            subject: subject.to_owned(),
            name: name.to_owned(),
        });
        self.other_topics.push((record, number));
        number
    }

    /// The wire formats of a topic. Schemas without an id are recorded, and the formats are empty.
    fn formats(&mut self, topic: usize, record: Record) -> Result<TopicFormats> {
        self.prepare(topic, record)?;
        let known = self.formats.get(topic).cloned().flatten();
        Ok(known.unwrap_or_default())
    }

    fn prepare(&mut self, topic: usize, record: Record) -> Result<()> {
        if self.formats.get(topic).is_some_and(Option::is_some) {
            return Ok(());
        }
        let name = self.batch.topics.get(topic).map_or("", |topic| &topic.name);
        let schemas = self.schemas.get_or_make(record, name, self.format);
        let formats = match schemas.formats(self.format) {
            Ok(formats) => formats,
            Err(SchemaMissing::Abandoned(schema)) if record != Record::Transaction => {
                let part = schema.part.name();
                let topic = schema.topic;
                return Err(Problem::Unregistered { part, topic }.at_offset(0));
            }
            Err(SchemaMissing::Abandoned(schema)) => self.record_unregistered(vec![schema]),
            Err(SchemaMissing::Unregistered(schemas)) => self.record_unregistered(schemas),
        };
        if self.formats.len() <= topic {
            self.formats.resize(topic.saturating_add(1), None);
        }
        if let Some(place) = self.formats.get_mut(topic) {
            *place = Some(formats);
        }
        Ok(())
    }

    fn record_unregistered(&mut self, schemas: Vec<UnregisteredSchema>) -> TopicFormats {
        self.batch.unregistered.extend(schemas);
        TopicFormats::default()
    }

    /// Adds a message whose value ends at the end of the buffer.
    fn push(&mut self, topic: usize, message: &Message) -> MessageEntry {
        let bytes = &self.batch.bytes;
        let key = bytes.get(message.key_start..message.value_start);
        let entry = MessageEntry {
            topic,
            key_start: message.key_start,
            value_start: message.value_start,
            value_end: bytes.len(),
            id: message.id,
            kind: message.kind,
            has_value: message.value_start < bytes.len(),
            timestamp_us: message.timestamp_us,
            cluster_time: message.cluster_time,
            partition_hash: kafka_partition_hash(key.unwrap_or_default()),
            event: self.batch.events,
        };
        self.batch.entries.push(entry);
        entry
    }

    fn skip(&mut self, reason: &str, transaction: Option<&Transaction<'_>>) -> Result<()> {
        self.end_other_transaction(transaction)?;
        self.count_skipped(reason);
        Ok(())
    }

    fn count_skipped(&mut self, reason: &str) {
        match self.batch.skipped.get_mut(reason) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.batch.skipped.insert(reason.to_owned(), 1);
            }
        }
    }

    fn add_change(&mut self, change: &Change<'_>, namespace: usize) -> Result<()> {
        let name = (change.database, change.collection);
        let topics = &mut self.batch.topics;
        let topic = self.namespaces.topic(namespace, topics, self.format, name);
        let number = self.namespaces.get(namespace).and_then(|n| n.transform);
        let transform = number.and_then(|number| self.transforms.get(number));
        if transform.is_none() {
            self.prepare(topic, Record::Document)?;
        }
        let order = self.count_in_transaction(change, topic)?;
        let namespace = self.namespaces.get(namespace);
        let missing = RefCell::new(Vec::new());
        let shapes = TopicShapes {
            cache: self.shapes,
            topic: self.batch.topics.get(topic).map_or("", |topic| &topic.name),
            missing: &missing,
        };
        let value = ValueContext {
            format: self.format,
            at_ns: self.at_ns,
            order: order.map(|order| (self.transaction_id.as_str(), order)),
        };
        let extraction = match transform {
            Some(Transform::ExtractDocument(extraction)) => Some((extraction, shapes)),
            Some(Transform::EventRouter(_)) | None => None,
        };
        let context = MessageContext { value, extraction };
        let is_delete = change.operation == Operation::Delete;
        let mut has_tombstone = is_delete && self.format.tombstones;
        let mut headers = (Vec::new(), Vec::new());
        if let Some((extraction, _)) = extraction {
            match extraction.outcome(change, self.format.tombstones) {
                Outcome::Dropped => {
                    self.count_skipped(change.operation.name());
                    return Ok(());
                }
                Outcome::Message { has_tombstone: own } => has_tombstone = own,
            }
            headers = extraction.headers(change, &value)?;
        }
        let bare = TopicFormats::default();
        let formats = self.formats.get(topic).and_then(Option::as_ref);
        let formats = formats.unwrap_or(&bare);
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        write_key(out, &formats.key, change, &context)?;
        let value_start = out.len();
        match namespace.map(|namespace| namespace.rules.as_slice()) {
            Some([]) | None => write_value_of(out, &formats.value, change, &context)?,
            Some(rules) => write_value_with_rules(out, &formats.value, change, rules, &context)?,
        }
        self.batch.unregistered.extend(missing.into_inner());
        let message = Message {
            key_start,
            value_start,
            id: [0; 16],
            kind: change.operation.into(),
            timestamp_us: change.source.ts_ms.saturating_mul(1000),
            cluster_time: change.source.cluster_time,
        };
        let number = self.batch.entries.len();
        let entry = self.push(topic, &message);
        let entries = &mut self.batch.entries;
        self.identity.set(change, message.kind, number, entries);
        if has_tombstone {
            let kind = Kind::Tombstone;
            entries.push(MessageEntry { kind, ..entry });
            let number = number.saturating_add(1);
            self.identity.set(change, kind, number, entries);
        }
        if !headers.0.is_empty() {
            self.add_headers(number, headers);
        }
        Ok(())
    }

    /// Adds headers of a message and of its tombstone, if there is one.
    fn add_headers(&mut self, number: usize, headers: (Vec<Header>, Vec<Header>)) {
        let messages = (number..self.batch.entries.len()).zip(<[_; 2]>::from(headers));
        for (message, headers) in messages.filter(|(_, headers)| !headers.is_empty()) {
            self.batch.extras.push(Extras {
                message,
                headers,
                ..Extras::default()
            });
        }
    }
}
