//! `EventBatch` and the reports in it.

use std::collections::HashMap;
use std::sync::Arc;

use commitlog_arrow_ffi::{Capsules, export_batch};
use commitlog_core::segment;
use commitlog_events::batch::{self, EventEntry, Stop};
use commitlog_events::event::Kind;
use commitlog_events::format;
use commitlog_events::snapshot::token_of;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::avro::Unregistered;
use crate::event_columns::columns;
use crate::messages::{self, Message, Messages};
use crate::schema::SchemaChanges;

/// What the events of a batch were read from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// A segment with this id.
    Segment(i64),
    /// The table itself: positions are those of tokens.
    Snapshot,
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
    pub fn new(segment: &str, gap: &segment::Gap) -> Self {
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
    is_unannounced: bool,
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
    /// The start of the source of all events.
    source_start: String,
}

impl EventBatch {
    pub fn new(batch: batch::EventBatch, format: Arc<format::EventFormat>, origin: Origin) -> Self {
        let node_id = &format.node_id;
        let source_start = match origin {
            Origin::Segment(id) => format!("{node_id}/{id}/"),
            Origin::Snapshot => format!("{node_id}/snapshot/"),
        };
        Self {
            batch,
            format,
            origin,
            source_start,
        }
    }
}

impl Messages for EventBatch {
    type Entry = EventEntry;

    fn entries(&self) -> &[EventEntry] {
        &self.batch.entries
    }

    fn topics(&self) -> impl Iterator<Item = &str> {
        self.batch.topics.iter().map(|topic| topic.name.as_str())
    }

    fn kinds() -> impl Iterator<Item = &'static str> {
        Kind::ALL.into_iter().map(Kind::name)
    }

    fn message(&self, entry: &EventEntry) -> Message<'_> {
        Message {
            topic: entry.topic as usize,
            key: self.batch.key(entry),
            value: (!entry.is_tombstone).then(|| self.batch.value(entry)),
            id: entry.id,
            timestamp_us: entry.timestamp_us,
            kind: entry.kind as usize,
            partition_hash: entry.partition_hash,
        }
    }

    /// `host id/segment id/position/index`, of a snapshot `host id/snapshot/token/index`.
    fn write_source(&self, out: &mut Vec<u8>, entry: &EventEntry) {
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(self.source_start.as_bytes());
        let position = match self.origin {
            Origin::Segment(_) => digits.format(entry.position),
            Origin::Snapshot => digits.format(token_of(entry.position)),
        };
        out.extend_from_slice(position.as_bytes());
        out.push(b'/');
        out.extend_from_slice(digits.format(entry.index).as_bytes());
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
            unregistered: Unregistered::list(blocked.unregistered.iter().cloned()),
            is_unannounced: blocked.is_unannounced,
        })
    }

    #[getter]
    fn gaps(&self) -> Vec<Gap> {
        let gaps = self.batch.gaps.iter();
        gaps.map(|gap| Gap::new(&self.batch.segment, gap)).collect()
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
        SchemaChanges::from_changes(&self.batch.schema_changes)
    }

    #[getter]
    fn change_start(&self) -> Option<u64> {
        self.batch.change_start
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

    /// One JSON line an event.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        messages::ndjson(py, self, first, stop)
    }

    /// All events as columns.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        // The interface lets the producer of the data choose.
        let _ = requested_schema;
        let events = py.detach(|| columns(&self.batch))?;
        export_batch(py, &events)
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
