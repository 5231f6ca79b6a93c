//! The Python class `EventBatch`, and the reports it contains.

use std::collections::HashMap;
use std::sync::Arc;

use commitlog_arrow_ffi::{Capsules, export_batch};
use commitlog_core::segment;
use commitlog_events::batch::{self, Stop};
use commitlog_events::format;
use event_encoding::ndjson::ndjson;
use event_encoding_python::messages;
use event_encoding_python::schema_ids::Unregistered;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::event_columns::columns;
use crate::schema::SchemaChanges;

/// A segment range that yielded no events, and the cause.
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

/// The record that blocks a read, and what it needs.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct Blocked {
    position: u64,
    table_id: String,
    column: Option<String>,
    reason: String,
    unregistered: Vec<Unregistered>,
    is_unannounced: bool,
}

/// Records of one table that were skipped because the same definition is missing.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct LostRecords {
    start: u64,
    end: u64,
    records: u64,
    table_id: String,
    column: Option<String>,
    reason: String,
}

/// Encoded events.
#[pyclass(frozen, module = "commitlog")]
pub struct EventBatch {
    batch: batch::EventBatch,
    format: Arc<format::EventFormat>,
}

impl EventBatch {
    pub fn new(batch: batch::EventBatch, format: Arc<format::EventFormat>) -> Self {
        Self { batch, format }
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
        self.batch.last_write_us()
    }

    fn position_after(&self, events: usize) -> u64 {
        self.batch.position_after(events)
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

    /// Returns producer arguments, up to the first topic for which `partitions` returns `None`.
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

    /// Returns one JSON line for each event.
    fn ndjson<'py>(&self, py: Python<'py>, first: usize, stop: usize) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &ndjson(&self.batch, first, stop))
    }

    /// Exports all events as Arrow columns.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        // The interface allows a producer to ignore the requested schema.
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
