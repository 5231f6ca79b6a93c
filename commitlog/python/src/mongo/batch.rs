//! `MongoBatch`: encoded messages.

use std::collections::HashMap;

use mongo_encoder::batch::{self, Kind, MessageEntry};
use mongo_encoder::format::EventFormat;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::transaction::MongoTransaction;
use crate::avro::Unregistered;
use crate::messages::{self, Message, Messages};

/// An event that could not be encoded.
#[pyclass(frozen, get_all, module = "mongo_agent.encoder")]
pub struct EncodingFailure {
    event: usize,
    offset: usize,
    cause: String,
    is_malformed: bool,
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
    /// The start of the source of all messages.
    source_start: String,
}

impl MongoBatch {
    pub fn new(batch: batch::MessageBatch, format: &EventFormat) -> Self {
        let source_start = format!("{}/{}/", format.node_id, format.replica_set);
        Self {
            batch,
            source_start,
        }
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
                is_malformed: failure.error.problem.is_malformed(),
            })
            .collect()
    }

    #[getter]
    fn unregistered(&self) -> Vec<Unregistered> {
        Unregistered::list(self.batch.unregistered.iter().cloned())
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
        messages::messages(py, self, first, stop)
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
        messages::produce_arguments(py, self, (first, stop), partitions, on_delivery)
    }

    /// One line of JSON for each message.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        messages::ndjson(py, self, first, stop)
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

impl Messages for MongoBatch {
    type Entry = MessageEntry;

    fn entries(&self) -> &[MessageEntry] {
        &self.batch.entries
    }

    fn topics(&self) -> impl Iterator<Item = &str> {
        self.batch.topics.iter().map(|topic| topic.name.as_str())
    }

    fn kinds() -> impl Iterator<Item = &'static str> {
        Kind::ALL.into_iter().map(Kind::name)
    }

    fn message(&self, entry: &MessageEntry) -> Message<'_> {
        Message {
            topic: entry.topic,
            key: self.batch.key(entry),
            value: self.batch.value(entry),
            id: entry.id,
            timestamp_us: entry.timestamp_us,
            kind: entry.kind as usize,
            partition_hash: entry.partition_hash,
        }
    }

    fn more_headers(&self, index: usize) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.batch.extras(index).into_iter();
        let headers = headers.flat_map(|extras| &extras.headers);
        headers.map(|header| (&*header.name, &*header.value))
    }

    fn placement(&self, index: usize) -> (Option<i64>, Option<i32>) {
        let extras = self.batch.extras(index);
        extras.map_or((None, None), |extras| {
            (extras.timestamp_ms, extras.partition)
        })
    }

    /// `node id/replica set/seconds.increment/index`.
    fn write_source(&self, out: &mut Vec<u8>, entry: &MessageEntry) {
        let mut digits = itoa::Buffer::new();
        let time = entry.cluster_time;
        let is_tombstone = entry.kind == Kind::Tombstone;
        out.extend_from_slice(self.source_start.as_bytes());
        out.extend_from_slice(digits.format(time.seconds).as_bytes());
        out.push(b'.');
        out.extend_from_slice(digits.format(time.increment).as_bytes());
        out.extend_from_slice(if is_tombstone { b"/1" } else { b"/0" });
    }
}
