//! `TableMerger` and `MergeSession` merge events through Arrow's C data interface.

use std::collections::HashSet;
use std::sync::Arc;

use commitlog_arrow_ffi::{export_schema, import_batch};
use commitlog_core::schema;
use commitlog_python::schema::Schema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use spark_merge::{Instants, Intake, Merger, Purge, Session, View, Window, intake_fields};

use crate::error::from_merge_error;
use crate::row_decoder::{RowBatch, find};

/// Merges the events of one table.
#[pyclass(frozen, module = "spark_jobs._rows")]
pub struct TableMerger {
    merger: Merger,
    schema: Arc<schema::Schema>,
}

#[pymethods]
impl TableMerger {
    #[new]
    #[pyo3(signature = (schema, keyspace, table, *, table_id = None))]
    fn new(schema: &Schema, keyspace: &str, table: &str, table_id: Option<&str>) -> PyResult<Self> {
        let found = find(&schema.0, keyspace, table, table_id)?;
        Ok(Self {
            merger: Merger::new(found).map_err(from_merge_error)?,
            schema: Arc::new(schema::Schema::new([found.clone()])),
        })
    }

    #[getter]
    fn table_schema(&self) -> Schema {
        Schema(Arc::clone(&self.schema))
    }

    /// Visible rows with raw values, with typed columns, or as changes from an empty table.
    #[pyo3(signature = (form, *, now_s, truncated_us = None, until_us = None, without_us = None))]
    fn visible(
        &self,
        form: &str,
        now_s: i64,
        truncated_us: Option<i64>,
        until_us: Option<i64>,
        without_us: Option<(i64, i64)>,
    ) -> PyResult<MergeSession> {
        let window = Window {
            until_us,
            without_us,
        };
        let view = View {
            now_s,
            truncated_us,
            window,
        };
        Ok(MergeSession(match form {
            "rows" => self.merger.rows(view),
            "typed" => self.merger.typed(view),
            "first_changes" => self.merger.first_changes(view),
            _ => return Err(PyValueError::new_err(format!("unknown form {form:?}"))),
        }))
    }

    #[pyo3(signature = (*, before_s, after_s, each, before_truncated_us = None,
        after_truncated_us = None))]
    fn changes(
        &self,
        before_s: i64,
        after_s: i64,
        each: bool,
        before_truncated_us: Option<i64>,
        after_truncated_us: Option<i64>,
    ) -> MergeSession {
        MergeSession(self.merger.changes(Instants {
            before_s,
            after_s: after_s.max(before_s),
            before_truncated_us,
            after_truncated_us,
            each,
        }))
    }

    #[pyo3(signature = (*, purge_before_s = None, truncated_us = None, keep_superseded = false))]
    fn compact(
        &self,
        purge_before_s: Option<i64>,
        truncated_us: Option<i64>,
        keep_superseded: bool,
    ) -> MergeSession {
        let purge = Purge {
            before_s: purge_before_s,
            truncated_us,
        };
        MergeSession(self.merger.compact(purge, keep_superseded))
    }
}

/// One pass over sorted batches.
#[pyclass(module = "spark_jobs._rows")]
pub struct MergeSession(Session);

#[pymethods]
impl MergeSession {
    fn push(&mut self, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = import_batch(batch)?;
        self.0.push(&batch).map_err(from_merge_error)
    }

    fn finish(&mut self) {
        self.0.finish();
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RowBatch>> {
        let batch = py.detach(|| self.0.next_batch());
        let batch = batch.map_err(from_merge_error)?;
        Ok(batch.map(RowBatch))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let fields = self.0.fields();
        export_schema(py, &fields.map_err(from_merge_error)?)
    }
}

/// Reads the member `cells` of event values before they are stored.
#[pyclass(frozen, module = "spark_jobs._rows")]
pub struct EventIntake(Intake);

#[pymethods]
impl EventIntake {
    #[new]
    fn new(counters: HashSet<String>) -> Self {
        Self(Intake::new(counters))
    }

    fn read(&self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<RowBatch> {
        let batch = import_batch(batch)?;
        py.detach(|| self.0.read(&batch))
            .map(RowBatch)
            .map_err(from_merge_error)
    }

    #[expect(clippy::unused_self, reason = "the protocol calls it on an instance")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let fields = intake_fields();
        export_schema(py, &fields.map_err(from_merge_error)?)
    }
}
