//! `MongoBatch`: encoded messages.

use std::collections::HashMap;
use std::sync::Arc;

use mongo_encoder::batch::{self, Kind, MessageEntry};
use mongo_encoder::format::EventFormat;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::transaction::MongoTransaction;
use crate::avro::Unregistered;
use crate::messages::{self, Messages, SourceText};

/// An event that could not be encoded.
#[pyclass(frozen, get_all, module = "mongo_agent.encoder")]
pub struct EncodingFailure {
    event: usize,
    offset: usize,
    cause: String,
}

#[pymethods]
impl EncodingFailure {
    fn __repr__(&self) -> String {
        format!("<EncodingFailure {}: {}>", self.event, self.cause)
    }
}

/// Messages as bytes.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct MongoBatch {
    batch: batch::MessageBatch,
    format: Arc<EventFormat>,
}

impl MongoBatch {
    pub fn new(batch: batch::MessageBatch, format: Arc<EventFormat>) -> Self {
        Self { batch, format }
    }

    fn entries(&self, first: usize, stop: usize) -> &[MessageEntry] {
        let stop = stop.min(self.batch.len());
        self.batch.entries.get(first..stop).unwrap_or_default()
    }

    fn source(&self) -> ClusterText {
        ClusterText::new(&self.format)
    }
}

#[pymethods]
impl MongoBatch {
    fn __len__(&self) -> usize {
        self.batch.len()
    }

    #[getter]
    fn size_bytes(&self) -> usize {
        self.batch.size_bytes()
    }

    #[getter]
    fn skipped(&self) -> HashMap<&str, u64> {
        let skipped = self.batch.skipped.iter();
        skipped
            .map(|(name, count)| (name.as_str(), *count))
            .collect()
    }

    #[getter]
    fn failures(&self) -> Vec<EncodingFailure> {
        let failures = self.batch.failures.iter();
        failures
            .map(|failure| EncodingFailure {
                event: failure.event,
                offset: failure.error.offset,
                cause: failure.error.to_string(),
            })
            .collect()
    }

    #[getter]
    fn unregistered(&self) -> Vec<Unregistered> {
        let lacking = self.batch.unregistered.iter();
        lacking.cloned().map(Unregistered).collect()
    }

    #[getter]
    fn counts(&self) -> HashMap<(String, &'static str), u64> {
        let counts = self.batch.counts().into_iter();
        counts
            .map(|((collection, kind), count)| ((collection, kind.name()), count))
            .collect()
    }

    #[getter]
    fn last_write_ts_us(&self) -> Option<i64> {
        self.batch.entries.last().map(|entry| entry.timestamp_us)
    }

    fn position_after(&self, messages: usize) -> usize {
        self.batch.position_after(messages)
    }

    /// The transaction that is open after the first `events` events.
    fn transaction_after(&self, events: usize) -> Option<MongoTransaction> {
        self.batch.transaction_after(events).map(MongoTransaction)
    }

    /// Tuples of topic, key, value, headers, partition hash.
    fn messages<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let entries = self.entries(first, stop);
        messages::messages(py, &self.batch, entries, self.source())
    }

    /// Arguments of a Kafka client, up to the first topic whose `partitions` are not known.
    fn produce_arguments<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        stop: usize,
        partitions: &Bound<'py, PyAny>,
        on_delivery: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let entries = self.entries(first, stop);
        let source = self.source();
        messages::produce_arguments(py, &self.batch, entries, source, partitions, on_delivery)
    }

    /// One line of JSON for each message.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        let entries = self.entries(first, stop);
        PyBytes::new(py, &messages::ndjson(&self.batch, entries, self.source()))
    }

    fn __repr__(&self) -> String {
        format!(
            "<MongoBatch of {} events: {} messages, {} failures>",
            self.batch.events,
            self.batch.len(),
            self.batch.failures.len()
        )
    }
}

impl Messages for batch::MessageBatch {
    type Entry = MessageEntry;
    const KINDS: &'static [&'static str] = &{
        let [
            insert,
            update,
            replace,
            delete,
            read,
            tombstone,
            transaction,
            schema,
        ] = Kind::ALL;
        [
            insert.name(),
            update.name(),
            replace.name(),
            delete.name(),
            read.name(),
            tombstone.name(),
            transaction.name(),
            schema.name(),
        ]
    };

    fn topic_names(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|topic| topic.name.as_str())
    }

    fn topic(&self, entry: &MessageEntry) -> usize {
        entry.topic
    }

    fn key(&self, entry: &MessageEntry) -> &[u8] {
        self.key(entry)
    }

    fn value(&self, entry: &MessageEntry) -> Option<&[u8]> {
        self.value(entry)
    }

    fn id(&self, entry: &MessageEntry) -> [u8; 16] {
        entry.id
    }

    fn timestamp_us(&self, entry: &MessageEntry) -> i64 {
        entry.timestamp_us
    }

    fn kind(&self, entry: &MessageEntry) -> usize {
        entry.kind as usize
    }

    fn partition_hash(&self, entry: &MessageEntry) -> u32 {
        entry.partition_hash
    }
}

/// `node id/replica set/seconds.increment/index`. All messages share the first two parts.
struct ClusterText {
    text: Vec<u8>,
    shared: usize,
}

impl ClusterText {
    fn new(format: &EventFormat) -> Self {
        let text = format!("{}/{}/", format.node_id, format.replica_set).into_bytes();
        Self {
            shared: text.len(),
            text,
        }
    }
}

impl SourceText<MessageEntry> for ClusterText {
    fn of(&mut self, entry: &MessageEntry) -> &[u8] {
        self.text.truncate(self.shared);
        let mut digits = itoa::Buffer::new();
        let time = entry.cluster_time;
        self.text
            .extend_from_slice(digits.format(time.seconds).as_bytes());
        self.text.push(b'.');
        self.text
            .extend_from_slice(digits.format(time.increment).as_bytes());
        let is_tombstone = entry.kind == Kind::Tombstone;
        self.text
            .extend_from_slice(if is_tombstone { b"/1" } else { b"/0" });
        &self.text
    }
}
