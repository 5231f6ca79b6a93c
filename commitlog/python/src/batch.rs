//! `EventBatch` and the reports in it.

use std::collections::HashMap;
use std::sync::Arc;

use commitlog_core::segment;
use commitlog_events::batch::{self, EventEntry, Stop};
use commitlog_events::event::Kind;
use commitlog_events::format;
use commitlog_events::value::json::write_string;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::schema::SchemaChanges;

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
}

/// Records of one table that are passed over, all for want of the same.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct Lost {
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
    segment_id: i64,
}

impl EventBatch {
    pub fn new(
        batch: batch::EventBatch,
        format: Arc<format::EventFormat>,
        segment_id: i64,
    ) -> Self {
        Self {
            batch,
            format,
            segment_id,
        }
    }

    fn entries(&self, first: usize, stop: usize) -> &[EventEntry] {
        let stop = stop.min(self.batch.len());
        self.batch.entries.get(first..stop).unwrap_or_default()
    }

    /// Who says so: `host id/segment id/position/index`. Writes all but the first two parts,
    /// which `source` holds in front and all events share.
    fn complete_source(source: &mut Vec<u8>, shared: usize, entry: &EventEntry) {
        let mut buffer = itoa::Buffer::new();
        source.truncate(shared);
        source.extend_from_slice(buffer.format(entry.position).as_bytes());
        source.push(b'/');
        source.extend_from_slice(buffer.format(entry.index).as_bytes());
    }

    fn shared_source(&self) -> Vec<u8> {
        format!("{}/{}/", self.format.node_id, self.segment_id).into_bytes()
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
        })
    }

    #[getter]
    fn gaps(&self) -> Vec<Gap> {
        let gaps = self.batch.gaps.iter();
        gaps.map(|gap| Gap::of(&self.batch.segment, gap)).collect()
    }

    #[getter]
    fn lost(&self) -> Vec<Lost> {
        let lost = self.batch.lost.iter();
        lost.map(|lost| Lost {
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
        self.batch.entries.last().map(|entry| entry.timestamp_us)
    }

    fn position_after(&self, events: usize) -> u64 {
        self.batch.position_after(events)
    }

    /// Tuples for a producer: topic, key, value, headers, partition hash.
    fn messages<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let topics: Vec<_> = self
            .batch
            .topics
            .iter()
            .map(|topic| PyString::new(py, &topic.name))
            .collect();
        let header = |name: &Bound<'py, PyString>, value: &[u8]| {
            PyTuple::new(
                py,
                [name.clone().into_any(), PyBytes::new(py, value).into_any()],
            )
        };
        let kinds = Kind::ALL
            .iter()
            .map(|kind| header(intern!(py, "cdc.kind"), kind.name().as_bytes()))
            .collect::<PyResult<Vec<_>>>()?;
        let kind = |kind: Kind| {
            let shared = kinds.get(kind as usize).cloned();
            shared.map_or_else(
                || header(intern!(py, "cdc.kind"), kind.name().as_bytes()),
                Ok,
            )
        };
        let mut source = self.shared_source();
        let shared = source.len();
        let mut time = itoa::Buffer::new();
        let list = PyList::empty(py);
        for entry in self.entries(first, stop) {
            Self::complete_source(&mut source, shared, entry);
            let headers = PyList::new(
                py,
                [
                    header(intern!(py, "cdc.id"), &entry.id)?,
                    header(intern!(py, "cdc.source"), &source)?,
                    header(
                        intern!(py, "cdc.ts_us"),
                        time.format(entry.timestamp_us).as_bytes(),
                    )?,
                    kind(entry.kind)?,
                ],
            )?;
            let topic = topics
                .get(entry.topic as usize)
                .cloned()
                .unwrap_or_else(|| PyString::new(py, ""));
            list.append(PyTuple::new(
                py,
                [
                    topic.into_any(),
                    PyBytes::new(py, self.batch.key(entry)).into_any(),
                    PyBytes::new(py, self.batch.value(entry)).into_any(),
                    headers.into_any(),
                    entry.partition_hash.into_pyobject(py)?.into_any(),
                ],
            )?)?;
        }
        Ok(list)
    }

    /// One JSON line an event.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        let mut out = Vec::new();
        let mut source = self.shared_source();
        let shared = source.len();
        for entry in self.entries(first, stop) {
            Self::complete_source(&mut source, shared, entry);
            out.extend_from_slice(b"{\"topic\":");
            write_string(&mut out, self.batch.topic(entry).as_bytes());
            out.extend_from_slice(b",\"key\":");
            out.extend_from_slice(self.batch.key(entry));
            out.extend_from_slice(b",\"value\":");
            out.extend_from_slice(self.batch.value(entry));
            out.extend_from_slice(b",\"headers\":{\"cdc.id\":\"");
            for byte in entry.id {
                out.extend_from_slice(format!("{byte:02x}").as_bytes());
            }
            out.extend_from_slice(b"\",\"cdc.source\":");
            write_string(&mut out, &source);
            let headers = format!(
                ",\"cdc.ts_us\":\"{}\",\"cdc.kind\":\"{}\"}}}}\n",
                entry.timestamp_us,
                entry.kind.name()
            );
            out.extend_from_slice(headers.as_bytes());
        }
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
