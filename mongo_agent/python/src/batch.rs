//! `MongoBatch`: encoded messages.

use std::collections::HashMap;

use event_encoding::ndjson::ndjson;
use mongo_encoder::batch::MessageBatch;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::transaction::MongoTransaction;
use event_encoding_python::messages;
use event_encoding_python::schema_ids::Unregistered;

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
    pub batch: MessageBatch,
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

    /// Returns the transaction that is open after the first `events` events.
    fn transaction_after(&self, events: usize) -> Option<MongoTransaction> {
        self.batch.transaction_after(events).map(MongoTransaction)
    }

    /// Returns tuples of topic, key, value, headers and partition hash.
    fn messages<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        messages::messages(py, &self.batch, first, stop)
    }

    /// Returns Kafka client arguments, up to the first topic for which `partitions` returns None.
    fn produce_arguments<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        stop: usize,
        partitions: &Bound<'py, PyAny>,
        on_delivery: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        messages::produce_arguments(py, &self.batch, (first, stop), partitions, on_delivery)
    }

    /// Returns one line of JSON for each message.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &ndjson(&self.batch, first, stop))
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
