//! `MongoEncoder` and `MongoBatch`: raw BSON of MongoDB as messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use commitlog_mongo::batch::{self, Kind, MessageEntry};
use commitlog_mongo::bson::Timestamp;
use commitlog_mongo::change::{Copy, SnapshotMark};
use commitlog_mongo::encoder::Encoder;
use commitlog_mongo::format::{DocumentJson, EventFormat, Layout};
use commitlog_mongo::{fragments, position};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::captures::Captures;
use crate::format::unknown;
use crate::messages::{self, Messages, SourceText};

/// How messages look, and what makes them.
#[pyclass(frozen, module = "commitlog")]
pub struct MongoEncoder {
    encoder: Encoder,
    format: Arc<EventFormat>,
    captures: Option<Captures>,
}

#[pymethods]
impl MongoEncoder {
    #[new]
    #[pyo3(signature = (*, topic_prefix, replica_set, node_id,
        connector_version = env!("CARGO_PKG_VERSION").to_owned(), layout = "debezium-3",
        document_json = "legacy", tombstones = true, captures = None,
        skipped_operations = HashSet::new()))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        topic_prefix: String,
        replica_set: String,
        node_id: String,
        connector_version: String,
        layout: &str,
        document_json: &str,
        tombstones: bool,
        captures: Option<Py<PyAny>>,
        skipped_operations: HashSet<String>,
    ) -> PyResult<Self> {
        let format = EventFormat {
            topic_prefix,
            connector_version,
            replica_set,
            node_id,
            layout: Layout::named(layout).ok_or_else(|| unknown("layout", layout))?,
            document_json: DocumentJson::named(document_json)
                .ok_or_else(|| unknown("document_json", document_json))?,
            tombstones,
            skipped_operations: letters(&skipped_operations)?,
        };
        Ok(Self {
            captures: captures.map(Captures::new),
            format: Arc::new(format.clone()),
            encoder: Encoder::new(format),
        })
    }

    /// Events of a change stream.
    #[pyo3(signature = (events, *, at_ns = None))]
    fn encode(
        &self,
        py: Python<'_>,
        events: Vec<Bound<'_, PyAny>>,
        at_ns: Option<i64>,
    ) -> PyResult<MongoBatch> {
        let events = inputs(&events)?;
        let at_ns = at_ns.unwrap_or_else(now_ns);
        let batch = py.detach(|| {
            let events = events.iter().map(Input::bytes);
            self.encoder.encode_captured(
                events,
                at_ns,
                &mut |database: &[u8], collection: &[u8]| {
                    let captures = self.captures.as_ref();
                    captures.map_or(Ok(true), |of| of.admits(database, collection))
                },
            )
        });
        Ok(self.batch(batch?))
    }

    /// Copied documents of one collection.
    #[pyo3(signature = (documents, *, database, collection, cluster_time, read_at_ms, snapshot,
        at_ns = None))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn encode_copied(
        &self,
        py: Python<'_>,
        documents: Vec<Bound<'_, PyAny>>,
        database: &str,
        collection: &str,
        cluster_time: (u32, u32),
        read_at_ms: i64,
        snapshot: &str,
        at_ns: Option<i64>,
    ) -> PyResult<MongoBatch> {
        let documents = inputs(&documents)?;
        let (seconds, increment) = cluster_time;
        let copy = Copy {
            database: database.as_bytes(),
            collection: collection.as_bytes(),
            cluster_time: Timestamp { seconds, increment },
            read_at_ms,
            mark: SnapshotMark::named(snapshot).ok_or_else(|| unknown("snapshot", snapshot))?,
        };
        let at_ns = at_ns.unwrap_or_else(now_ns);
        let batch = py.detach(|| {
            let documents = documents.iter().map(Input::bytes);
            self.encoder.encode_copied(documents, &copy, at_ns)
        });
        Ok(self.batch(batch))
    }
}

impl MongoEncoder {
    fn batch(&self, batch: batch::EventBatch) -> MongoBatch {
        MongoBatch {
            batch,
            format: Arc::clone(&self.format),
        }
    }
}

/// The letters of `op` that are left out.
fn letters(given: &HashSet<String>) -> PyResult<Vec<&'static str>> {
    const LETTERS: [&str; 4] = ["c", "u", "d", "r"];
    let letter = |given: &String| LETTERS.into_iter().find(|letter| letter == given);
    let each = given
        .iter()
        .map(|given| letter(given).ok_or_else(|| unknown("skipped_operations", given)));
    each.collect()
}

/// The event whose parts these are (`$changeStreamSplitLargeEvent`).
#[pyfunction]
pub fn join_fragments<'py>(
    py: Python<'py>,
    fragments: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let parts = inputs(&fragments)?;
    let joined = py.detach(|| {
        let parts: Vec<_> = parts.iter().map(Input::bytes).collect();
        fragments::join_fragments(&parts)
    });
    let joined = joined.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &joined))
}

/// Which part of how many an event is.
#[pyfunction]
pub fn split_of(event: &Bound<'_, PyAny>) -> PyResult<Option<(u32, u32)>> {
    let event = input(event)?;
    let split = fragments::split_of(event.bytes());
    Ok(split.map(|split| (split.fragment, split.of)))
}

type ClusterTime = (u32, u32);

/// The cluster times of the first and the last of events.
#[pyfunction]
pub fn event_times(events: Vec<Bound<'_, PyAny>>) -> PyResult<Option<(ClusterTime, ClusterTime)>> {
    let events = inputs(&events)?;
    let times = position::event_times(events.iter().map(Input::bytes));
    let pair = |time: Timestamp| (time.seconds, time.increment);
    Ok(times.map(|(first, last)| (pair(first), pair(last))))
}

fn now_ns() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since_epoch.map_or(0, |since_epoch| since_epoch.as_nanos());
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// Bytes that stay where they are without the GIL.
enum Input {
    Shared(PyBackedBytes),
    /// What is no `bytes` may change meanwhile.
    Copied(Vec<u8>),
}

impl Input {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

fn inputs(objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<Input>> {
    objects.iter().map(input).collect()
}

fn input(object: &Bound<'_, PyAny>) -> PyResult<Input> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Input::Shared(bytes.clone().into()));
    }
    let buffer = PyBuffer::<u8>::get(object)?;
    Ok(Input::Copied(buffer.to_vec(object.py())?))
}

/// An event that gives no message because its bytes cannot be read.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct RefusedEvent {
    event: usize,
    offset: usize,
    cause: String,
}

#[pymethods]
impl RefusedEvent {
    fn __repr__(&self) -> String {
        format!("<RefusedEvent {}: {}>", self.event, self.cause)
    }
}

/// Messages as bytes.
#[pyclass(frozen, module = "commitlog")]
pub struct MongoBatch {
    batch: batch::EventBatch,
    format: Arc<EventFormat>,
}

impl MongoBatch {
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
    fn refused(&self) -> Vec<RefusedEvent> {
        let refused = self.batch.refused.iter();
        refused
            .map(|refused| RefusedEvent {
                event: refused.event,
                offset: refused.error.offset,
                cause: refused.error.to_string(),
            })
            .collect()
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

    /// One JSON line a message.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        let entries = self.entries(first, stop);
        PyBytes::new(py, &messages::ndjson(&self.batch, entries, self.source()))
    }

    fn __repr__(&self) -> String {
        format!(
            "<MongoBatch of {} events: {} messages, {} refused>",
            self.batch.events,
            self.batch.len(),
            self.batch.refused.len()
        )
    }
}

impl Messages for batch::EventBatch {
    type Entry = MessageEntry;
    const KINDS: &'static [&'static str] = &{
        let [insert, update, replace, delete, read, tombstone] = Kind::ALL;
        [
            insert.name(),
            update.name(),
            replace.name(),
            delete.name(),
            read.name(),
            tombstone.name(),
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
