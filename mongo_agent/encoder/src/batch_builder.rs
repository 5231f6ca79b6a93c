//! Adds events one by one to a batch.

use std::collections::BTreeMap;

use event_encoding::partition_hash::kafka_partition_hash;
use event_encoding::schema_ids::UnregisteredSchema;

use crate::batch::{EncodingFailure, Kind, MessageBatch, MessageEntry, NOT_CAPTURED};
use crate::bson::Timestamp;
use crate::change::{Change, DdlEvent, Event, Operation, Transaction};
use crate::error::{BsonError, Problem};
use crate::format::EventFormat;
use crate::identity::Identity;
use crate::layout::{ValueContext, ddl};
use crate::message_writer::{write_key, write_value_of, write_value_with_rules};
use crate::namespaces::{Namespaces, Routing};
use crate::schemas::Record;
use crate::topic::Topic;
use crate::transaction::{self, Boundary, OpenTransaction, TransactionOrder, Transactions};
use crate::wire_format::{SchemaCache, SchemaMissing, TopicFormats};

pub(crate) struct BatchBuilder<'f> {
    format: &'f EventFormat,
    schemas: &'f SchemaCache,
    at_ns: i64,
    batch: MessageBatch,
    /// Wire formats by the index of their topic.
    formats: Vec<Option<TopicFormats>>,
    /// Topics of other messages than documents, with the kind of their record. A topic of the same
    /// name
    /// may exist for documents; its wire format differs.
    others: Vec<(Record, usize)>,
    identity: Identity,
    namespaces: Namespaces,
    transactions: Transactions,
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
    pub(crate) fn new(format: &'f EventFormat, schemas: &'f SchemaCache, at_ns: i64) -> Self {
        Self {
            format,
            schemas,
            at_ns,
            batch: MessageBatch::default(),
            formats: Vec::new(),
            others: Vec::new(),
            identity: Identity::default(),
            namespaces: Namespaces::default(),
            transactions: Transactions::default(),
            transaction_id: String::new(),
        }
    }

    /// Continues an open transaction, if the format has transaction metadata.
    pub(crate) fn with_transaction(self, transaction: Option<OpenTransaction>) -> Self {
        let is_told = self.format.transaction_topic.is_some();
        Self {
            transactions: Transactions::new(transaction.filter(|_| is_told)),
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
    pub(crate) fn add<C: Routing>(
        &mut self,
        event: Result<Event<'_>, BsonError>,
        captures: &mut C,
    ) -> Result<(), C::Error> {
        let start = (self.batch.bytes.len(), self.batch.entries.len());
        let added = match event {
            Ok(Event::Change(change)) => {
                let (database, collection) = (change.database, change.collection);
                let found = self
                    .namespaces
                    .find(database, collection, self.format, captures)?;
                match self.reason_to_skip(&change, found) {
                    Some(reason) => self.skip(reason, change.transaction.as_ref()),
                    None => self.add_change(&change, found),
                }
            }
            Ok(Event::Ddl(event)) => {
                let transaction = event.transaction.as_ref();
                if !self.format.publishes_ddl() {
                    let operation = String::from_utf8_lossy(event.operation);
                    self.skip(&operation, transaction)
                } else if self.is_captured(&event, captures)? {
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
            self.transactions.rollback(event, &self.batch.topics);
            self.batch.failures.push(EncodingFailure { event, error });
        }
        self.batch.events = self.batch.events.saturating_add(1);
        Ok(())
    }

    /// Adds a resume token after all events: it ends an open transaction of an earlier time.
    pub(crate) fn add_token(&mut self, time: Timestamp) {
        if self
            .transactions
            .open()
            .is_some_and(|open| open.time < time)
        {
            self.end_transaction();
        }
        self.batch.events = self.batch.events.saturating_add(1);
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

    /// Events of a database are published regardless of captured collections, a rename if the
    /// collection is captured under its old name or its new one.
    fn is_captured<C: Routing>(
        &mut self,
        event: &DdlEvent<'_>,
        captures: &mut C,
    ) -> Result<bool, C::Error> {
        let named = event.database.zip(event.collection);
        let mut is_captured = named.is_none();
        for (database, collection) in named.into_iter().chain(event.to) {
            let namespaces = &mut self.namespaces;
            let found = namespaces.find(database, collection, self.format, captures)?;
            is_captured |= namespaces.get(found).is_some_and(|of| of.is_captured);
        }
        Ok(is_captured)
    }

    fn add_ddl(&mut self, event: &DdlEvent<'_>) -> Result<(), BsonError> {
        self.end_other_transaction(event.transaction.as_ref())?;
        if event.cluster_time == Timestamp::default() {
            let member = "clusterTime";
            return Err(Problem::Missing { member }.at(0));
        }
        let names = event.database.into_iter().chain(event.collection);
        let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let subject = names.join(".");
        let name = match &self.format.schema_topic {
            Some(topic) => topic.clone(),
            None => self.topic_of(event, &names),
        };
        let context = ValueContext {
            format: self.format,
            at_ns: self.at_ns,
            part: None,
        };
        let topic = self.topic(Record::Ddl, &subject, &name);
        let formats = self.formats(topic, Record::Ddl)?;
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        let key = self.format.key;
        formats
            .key
            .around(out, key, |form| ddl::write_key(form, &subject));
        let value_start = out.len();
        formats.value.around(out, self.format.value, |form| {
            ddl::write_value(form, event, &context)
        })?;
        let message = Message {
            key_start,
            value_start,
            id: self.identity.ddl_id(event),
            kind: Kind::Schema,
            timestamp_us: event.source_ms.saturating_mul(1000),
            cluster_time: event.cluster_time,
        };
        self.push(topic, &message);
        Ok(())
    }

    /// The topic of the collection or the database of a DDL event.
    fn topic_of(&self, event: &DdlEvent<'_>, names: &[&str]) -> String {
        let named = event.database.zip(event.collection);
        let own = named
            .and_then(|(database, collection)| self.namespaces.topic_name(database, collection));
        own.map_or_else(|| self.format.topic(names), str::to_owned)
    }

    /// The topic of other messages than documents; added on first use.
    fn topic(&mut self, record: Record, subject: &str, name: &str) -> usize {
        let topics = &mut self.batch.topics;
        let is_it = |topic: &Topic| topic.subject == subject && topic.name == name;
        let own = self.others.iter().filter(|(of, _)| *of == record);
        let mut numbers = own.map(|(_, number)| *number);
        if let Some(number) = numbers.find(|number| topics.get(*number).is_some_and(is_it)) {
            return number;
        }
        let number = topics.len();
        topics.push(Topic {
            subject: subject.to_owned(),
            name: name.to_owned(),
        });
        self.others.push((record, number));
        number
    }

    /// The wire formats of a topic. Schemas without an id are recorded, and the formats are empty.
    fn formats(&mut self, topic: usize, record: Record) -> Result<TopicFormats, BsonError> {
        self.prepare(topic, record)?;
        let known = self.formats.get(topic).cloned().flatten();
        Ok(known.unwrap_or_default())
    }

    fn prepare(&mut self, topic: usize, record: Record) -> Result<(), BsonError> {
        if self.formats.get(topic).is_some_and(Option::is_some) {
            return Ok(());
        }
        let name = self.batch.topics.get(topic).map_or("", |topic| &topic.name);
        let schemas = self.schemas.of(record, name, self.format);
        let formats = match schemas.formats(self.format) {
            Ok(formats) => formats,
            Err(SchemaMissing::Abandoned(schema)) if record != Record::Transaction => {
                let part = schema.part.name();
                let topic = schema.topic;
                return Err(Problem::Unregistered { part, topic }.at(0));
            }
            Err(SchemaMissing::Abandoned(schema)) => self.lacking(vec![schema]),
            Err(SchemaMissing::Unregistered(schemas)) => self.lacking(schemas),
        };
        if self.formats.len() <= topic {
            self.formats.resize(topic.saturating_add(1), None);
        }
        if let Some(place) = self.formats.get_mut(topic) {
            *place = Some(formats);
        }
        Ok(())
    }

    fn lacking(&mut self, schemas: Vec<UnregisteredSchema>) -> TopicFormats {
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
            timestamp_us: message.timestamp_us,
            cluster_time: message.cluster_time,
            partition_hash: kafka_partition_hash(key.unwrap_or_default()),
            event: self.batch.events,
        };
        self.batch.entries.push(entry);
        entry
    }

    fn skip(
        &mut self,
        reason: &str,
        transaction: Option<&Transaction<'_>>,
    ) -> Result<(), BsonError> {
        self.end_other_transaction(transaction)?;
        match self.batch.skipped.get_mut(reason) {
            Some(count) => *count = count.saturating_add(1),
            None => {
                self.batch.skipped.insert(reason.to_owned(), 1);
            }
        }
        Ok(())
    }

    fn add_change(&mut self, change: &Change<'_>, namespace: usize) -> Result<(), BsonError> {
        let name = (change.database, change.collection);
        let topics = &mut self.batch.topics;
        let topic = self.namespaces.topic(namespace, topics, self.format, name);
        self.prepare(topic, Record::Document)?;
        let part = self.take_part(change, topic)?;
        let context = ValueContext {
            format: self.format,
            at_ns: self.at_ns,
            part: part.map(|part| (self.transaction_id.as_str(), part)),
        };
        let bare = TopicFormats::default();
        let formats = self.formats.get(topic).and_then(Option::as_ref);
        let formats = formats.unwrap_or(&bare);
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        write_key(out, &formats.key, change, self.format.key)?;
        let value_start = out.len();
        match self.namespaces.get(namespace).map(|of| of.rules.as_slice()) {
            Some([]) | None => write_value_of(out, &formats.value, change, &context)?,
            Some(rules) => write_value_with_rules(out, &formats.value, change, rules, &context)?,
        }
        let message = Message {
            key_start,
            value_start,
            id: [0; 16],
            kind: change.operation.into(),
            timestamp_us: change.source_ms.saturating_mul(1000),
            cluster_time: change.cluster_time,
        };
        let number = self.batch.entries.len();
        let entry = self.push(topic, &message);
        let entries = &mut self.batch.entries;
        self.identity.set_change(change, number, entries);
        if change.operation == Operation::Delete && self.format.tombstones {
            let kind = Kind::Tombstone;
            entries.push(MessageEntry { kind, ..entry });
            let number = number.saturating_add(1);
            self.identity.set_tombstone(change, number, entries);
        }
        Ok(())
    }

    /// Counts an event in its transaction, if the format has transaction metadata.
    fn take_part(
        &mut self,
        change: &Change<'_>,
        topic: usize,
    ) -> Result<Option<TransactionOrder>, BsonError> {
        self.end_other_transaction(change.transaction.as_ref())?;
        if self.format.transaction_topic.is_none() || change.transaction.is_none() {
            return Ok(None);
        }
        let event = self.batch.events;
        let time = (change.cluster_time, change.source_ms);
        if self.transactions.open().is_none() {
            self.transactions.begin(event, &self.transaction_id);
            let counts = BTreeMap::new();
            self.add_boundary(Boundary::Begin, &self.transaction_id.clone(), time, &counts);
        }
        let topics = &self.batch.topics;
        Ok(self.transactions.count(event, topic, time, topics))
    }

    /// Ends the open transaction if the event belongs to another one. Sets `transaction_id` to that
    /// of
    /// the event.
    fn end_other_transaction(
        &mut self,
        transaction: Option<&Transaction<'_>>,
    ) -> Result<(), BsonError> {
        if self.format.transaction_topic.is_none() {
            return Ok(());
        }
        self.transaction_id.clear();
        if let Some(transaction) = transaction {
            let mut id = std::mem::take(&mut self.transaction_id).into_bytes();
            transaction.write_id(&mut id)?;
            self.transaction_id = String::from_utf8(id).unwrap_or_default();
        }
        let open = self.transactions.open();
        if open.is_some_and(|open| open.id != self.transaction_id) {
            self.end_transaction();
        }
        Ok(())
    }

    fn end_transaction(&mut self) {
        if let Some(ended) = self.transactions.open().cloned() {
            self.transactions.end(self.batch.events);
            let time = (ended.time, ended.ts_ms);
            self.add_boundary(Boundary::End, &ended.id, time, &ended.counts);
        }
    }

    fn add_boundary(
        &mut self,
        boundary: Boundary,
        id: &str,
        (cluster_time, ts_ms): (Timestamp, i64),
        counts: &BTreeMap<String, u64>,
    ) {
        let Some(name) = &self.format.transaction_topic else {
            return;
        };
        let topic = self.topic(Record::Transaction, "", name);
        // Messages of transactions are never rejected.
        let formats = self.formats(topic, Record::Transaction).unwrap_or_default();
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        let key = self.format.key;
        formats
            .key
            .around(out, key, |form| transaction::write_key(form, id));
        let value_start = out.len();
        formats.value.around(out, self.format.value, |form| {
            transaction::write_value(form, boundary, (id, ts_ms), counts, self.format);
        });
        let message = Message {
            key_start,
            value_start,
            id: self
                .identity
                .boundary_id(boundary, &self.format.replica_set, id),
            kind: Kind::Transaction,
            timestamp_us: ts_ms.saturating_mul(1000),
            cluster_time,
        };
        self.push(topic, &message);
    }
}
