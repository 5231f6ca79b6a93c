//! `EventBatch` and the reports in it.

use std::collections::HashMap;
use std::sync::Arc;

use commitlog_core::segment;
use commitlog_events::batch::{self, EventEntry, Stop};
use commitlog_events::event::Kind;
use commitlog_events::format;
use commitlog_events::snapshot::token_of;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::avro::Unregistered;
use crate::messages::{self, Messages, SourceText};
use crate::schema::SchemaChanges;

impl Messages for batch::EventBatch {
    type Entry = EventEntry;
    const KINDS: &'static [&'static str] = &["row", "static", "partition", "range"];

    fn topic_names(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|topic| topic.name.as_str())
    }

    fn topic(&self, entry: &EventEntry) -> usize {
        entry.topic as usize
    }

    fn key(&self, entry: &EventEntry) -> &[u8] {
        self.key(entry)
    }

    fn value(&self, entry: &EventEntry) -> Option<&[u8]> {
        (!entry.is_tombstone).then(|| self.value(entry))
    }

    fn id(&self, entry: &EventEntry) -> [u8; 16] {
        entry.id
    }

    fn timestamp_us(&self, entry: &EventEntry) -> i64 {
        entry.timestamp_us
    }

    fn kind(&self, entry: &EventEntry) -> usize {
        match entry.kind {
            Kind::Row => 0,
            Kind::Static => 1,
            Kind::Partition => 2,
            Kind::Range => 3,
        }
    }

    fn partition_hash(&self, entry: &EventEntry) -> u32 {
        entry.partition_hash
    }
}

/// What the events of a batch were read from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// A segment with this id.
    Segment(i64),
    /// The table itself: positions are those of tokens.
    Snapshot,
}

/// `host id/segment id/position/index`, of a snapshot `host id/snapshot/token/index`. All events
/// share the first two parts.
struct OriginText {
    text: Vec<u8>,
    shared: usize,
    origin: Origin,
    digits: itoa::Buffer,
}

impl OriginText {
    fn new(format: &format::EventFormat, origin: Origin) -> Self {
        let node_id = &format.node_id;
        let text = match origin {
            Origin::Segment(id) => format!("{node_id}/{id}/"),
            Origin::Snapshot => format!("{node_id}/snapshot/"),
        };
        Self {
            shared: text.len(),
            text: text.into_bytes(),
            origin,
            digits: itoa::Buffer::new(),
        }
    }
}

impl SourceText<EventEntry> for OriginText {
    fn of(&mut self, entry: &EventEntry) -> &[u8] {
        self.text.truncate(self.shared);
        let position = match self.origin {
            Origin::Segment(_) => self.digits.format(entry.position),
            Origin::Snapshot => self.digits.format(token_of(entry.position)),
        };
        self.text.extend_from_slice(position.as_bytes());
        self.text.push(b'/');
        let index = self.digits.format(entry.index);
        self.text.extend_from_slice(index.as_bytes());
        &self.text
    }
}

/// A range of a segment that gave no events, and why.
#[pyclass(frozen, get_all, module = "commitlog")]
#[derive(Clone)]
pub struct Gap {
    segment: String,
    start: u64,
    end: Option<u64>,
    cause: String,
}

impl Gap {
    pub fn of(segment: &str, gap: &segment::Gap) -> Self {
        Self {
            segment: segment.to_owned(),
            start: gap.start,
            end: gap.end,
            cause: gap.cause.clone(),
        }
    }
}

#[pymethods]
impl Gap {
    fn __repr__(&self) -> String {
        let end = self.end.map_or("the end".to_owned(), |end| end.to_string());
        format!(
            "<Gap {} from {} to {end}: {}>",
            self.segment, self.start, self.cause
        )
    }
}

/// The record that stopped a read, and what it needs.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct Blocked {
    position: u64,
    table_id: String,
    column: Option<String>,
    reason: String,
    unregistered: Vec<Unregistered>,
}

/// Records of one table that are passed over, all for want of the same.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct LostRecords {
    start: u64,
    end: u64,
    records: u64,
    table_id: String,
    column: Option<String>,
    reason: String,
}

/// Events as bytes.
#[pyclass(frozen, module = "commitlog")]
pub struct EventBatch {
    batch: batch::EventBatch,
    format: Arc<format::EventFormat>,
    origin: Origin,
}

impl EventBatch {
    pub fn new(batch: batch::EventBatch, format: Arc<format::EventFormat>, origin: Origin) -> Self {
        Self {
            batch,
            format,
            origin,
        }
    }

    fn entries(&self, first: usize, stop: usize) -> &[EventEntry] {
        let stop = stop.min(self.batch.len());
        self.batch.entries.get(first..stop).unwrap_or_default()
    }

    fn source(&self) -> OriginText {
        OriginText::new(&self.format, self.origin)
    }
}

#[pymethods]
impl EventBatch {
    fn __len__(&self) -> usize {
        self.batch.len()
    }

    #[getter]
    fn size_bytes(&self) -> usize {
        self.batch.size_bytes()
    }

    #[getter]
    fn segment(&self) -> &str {
        &self.batch.segment
    }

    #[getter]
    fn start_position(&self) -> u64 {
        self.batch.start_position
    }

    #[getter]
    fn end_position(&self) -> u64 {
        self.batch.end_position
    }

    #[getter]
    fn stop(&self) -> &'static str {
        match self.batch.stop {
            Stop::Full => "full",
            Stop::End => "end",
            Stop::Blocked => "blocked",
            Stop::Schema => "schema",
        }
    }

    #[getter]
    fn blocked(&self) -> Option<Blocked> {
        self.batch.blocked.as_ref().map(|blocked| Blocked {
            position: blocked.end,
            table_id: blocked.table_id.clone(),
            column: blocked.column.clone(),
            reason: blocked.reason.clone(),
            unregistered: blocked
                .unregistered
                .iter()
                .cloned()
                .map(Unregistered)
                .collect(),
        })
    }

    #[getter]
    fn gaps(&self) -> Vec<Gap> {
        let gaps = self.batch.gaps.iter();
        gaps.map(|gap| Gap::of(&self.batch.segment, gap)).collect()
    }

    #[getter]
    fn lost(&self) -> Vec<LostRecords> {
        let lost = self.batch.lost.iter();
        lost.map(|lost| LostRecords {
            start: lost.start,
            end: lost.end,
            records: lost.records,
            table_id: lost.missing.table_id.clone(),
            column: lost.missing.column.clone(),
            reason: lost.reason.clone(),
        })
        .collect()
    }

    #[getter]
    fn schema_changes(&self) -> Option<SchemaChanges> {
        SchemaChanges::of(&self.batch.schema_changes)
    }

    #[getter]
    fn mutations(&self) -> u64 {
        self.batch.mutations
    }

    #[getter]
    fn skipped(&self) -> HashMap<&'static str, u64> {
        self.batch.skipped.iter().copied().collect()
    }

    #[getter]
    fn counts(&self) -> HashMap<(&str, &'static str), u64> {
        let counts = self.batch.counts().into_iter();
        let style = self.format.op_style;
        counts
            .map(|(table, op, count)| ((table, op.letter(style)), count))
            .collect()
    }

    #[getter]
    fn last_write_ts_us(&self) -> Option<i64> {
        match self.origin {
            Origin::Segment(_) => self.batch.entries.last().map(|entry| entry.timestamp_us),
            // The age of a snapshot row is no measure of the delivery lag.
            Origin::Snapshot => None,
        }
    }

    fn position_after(&self, events: usize) -> u64 {
        self.batch.position_after(events)
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

    /// One JSON line an event.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        let entries = self.entries(first, stop);
        let out = messages::ndjson(&self.batch, entries, self.source());
        PyBytes::new(py, &out)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let facts = PyDict::new(py);
        facts.set_item("events", self.batch.len())?;
        facts.set_item("stop", self.stop())?;
        facts.set_item("end_position", self.batch.end_position)?;
        Ok(format!(
            "<EventBatch {} {}>",
            self.batch.segment,
            facts.repr()?
        ))
    }
}
