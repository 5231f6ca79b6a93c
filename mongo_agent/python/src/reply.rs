//! `StreamReply`: a server's reply to `aggregate` or `getMore`.

use std::sync::Arc;

use mongo_encoder::error::BsonError;
use mongo_encoder::reply;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::events::{ChangeEvents, ClusterTime};
use crate::input::{Input, input};

/// The events of a reply and the state of its cursor.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct StreamReply {
    bytes: Arc<Input>,
    reply: reply::Reply,
    events: Py<ChangeEvents>,
}

#[pymethods]
impl StreamReply {
    #[new]
    fn new(py: Python<'_>, reply: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Arc::new(input(reply)?);
        let (reply, events) = py
            .detach(|| {
                let mut reply = reply::parse_reply(bytes.bytes())?;
                let ranges = std::mem::take(&mut reply.events);
                Ok((reply, ChangeEvents::of_reply(Arc::clone(&bytes), ranges)))
            })
            .map_err(|error: BsonError| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            bytes,
            reply,
            events: Py::new(py, events)?,
        })
    }

    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> Bound<'py, ChangeEvents> {
        self.events.bind(py).clone()
    }

    #[getter]
    fn cursor_id(&self) -> i64 {
        self.reply.cursor_id
    }

    #[getter]
    fn namespace(&self) -> &str {
        &self.reply.namespace
    }

    #[getter]
    fn token<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let token = self.bytes.bytes().get(self.reply.token.clone()?)?;
        Some(PyBytes::new(py, token))
    }

    #[getter]
    fn operation_time(&self) -> Option<ClusterTime> {
        self.reply.operation_time.map(Into::into)
    }

    fn __repr__(&self) -> String {
        format!("<StreamReply of cursor {}>", self.reply.cursor_id)
    }
}
