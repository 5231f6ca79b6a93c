//! The Python class `SnapshotEncoder`, which encodes `SELECT` pages as events.

use std::sync::{Mutex, MutexGuard, PoisonError};

use commitlog_core::schema::TableId;
use commitlog_events::snapshot::{self, ElementTimes, PageRequest, SnapshotError};
use event_encoding_python::schema_ids::Unregistered;
use pyo3::prelude::*;

use crate::batch::EventBatch;
use crate::clock::now_ms;
use crate::error::{MalformedValueError, SchemaError};
use crate::format::EventFormat;
use crate::schema::Schema;

/// Encodes the pages of one table as events.
#[pyclass(frozen, module = "commitlog")]
pub struct SnapshotEncoder(Mutex<snapshot::SnapshotEncoder>);

impl SnapshotEncoder {
    fn lock(&self) -> MutexGuard<'_, snapshot::SnapshotEncoder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SnapshotEncoder {
    #[new]
    #[pyo3(signature = (schema, table_id, event_format, *, element_times, started_us))]
    fn new(
        schema: &Schema,
        table_id: &str,
        event_format: &EventFormat,
        element_times: bool,
        started_us: i64,
    ) -> PyResult<Self> {
        let table = TableId::parse(table_id).and_then(|id| schema.0.table(id));
        let table = table.ok_or_else(|| {
            SchemaError::new_err(format!("schema: there is no table with the id {table_id}"))
        })?;
        let element_times = if element_times {
            ElementTimes::Selected
        } else {
            ElementTimes::Unknown
        };
        Ok(Self(Mutex::new(snapshot::SnapshotEncoder::new(
            table,
            &event_format.0,
            element_times,
            started_us,
        ))))
    }

    #[getter]
    fn unregistered(&self) -> Vec<Unregistered> {
        Unregistered::list(self.lock().unregistered())
    }

    fn cql(&self, after: i64, to: i64) -> String {
        self.lock().selection().cql(after, to)
    }

    #[pyo3(signature = (page, *, read_at_us, start, end = None, continues = false))]
    fn encode(
        &self,
        py: Python<'_>,
        page: &[u8],
        read_at_us: i64,
        start: i64,
        end: Option<i64>,
        continues: bool,
    ) -> PyResult<EventBatch> {
        let request = PageRequest {
            body: page,
            read_at_us,
            start,
            end,
            continues,
        };
        let (batch, format) = py
            .detach(|| {
                let mut encoder = self.lock();
                let batch = encoder.encode(&request, now_ms())?;
                Ok((batch, encoder.format().clone()))
            })
            .map_err(|error: SnapshotError| MalformedValueError::new_err(error.to_string()))?;
        Ok(EventBatch::new(batch, format))
    }
}
