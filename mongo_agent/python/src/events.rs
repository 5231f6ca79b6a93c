//! `ChangeEvents`: raw events of a change stream with their tokens and times.

use std::ops::Range;
use std::sync::Arc;

use mongo_encoder::stream_place::{StreamPlace, cluster_time, token_of};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};

use crate::input::{Input, input};

/// Seconds and increment.
pub type ClusterTime = (u32, u32);

/// Raw events as slices of the replies and buffers that hold them.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct ChangeEvents(Vec<Slice>);

#[derive(Clone)]
pub struct Slice {
    buffer: Arc<Input>,
    range: Range<usize>,
}

impl Slice {
    /// Creates a slice of a whole buffer.
    pub fn whole(buffer: Input) -> Self {
        let range = 0..buffer.bytes().len();
        let buffer = Arc::new(buffer);
        Self { buffer, range }
    }

    fn bytes(&self) -> &[u8] {
        let bytes = self.buffer.bytes().get(self.range.clone());
        bytes.unwrap_or_default()
    }
}

impl ChangeEvents {
    pub fn of_reply(reply: Arc<Input>, ranges: Vec<Range<usize>>) -> Self {
        let slice = |range| Slice {
            buffer: Arc::clone(&reply),
            range,
        };
        Self(ranges.into_iter().map(slice).collect())
    }

    pub fn from_slices(slices: Vec<Slice>) -> Self {
        Self(slices)
    }

    pub fn get(&self, index: usize) -> Option<&Slice> {
        self.0.get(index)
    }

    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(Slice::bytes)
    }

    /// A negative index counts from the end.
    fn event(&self, index: isize) -> PyResult<&[u8]> {
        let number = match usize::try_from(index) {
            Ok(number) => Some(number),
            Err(_) => self.0.len().checked_sub(index.unsigned_abs()),
        };
        let event = number.and_then(|number| self.0.get(number));
        let event = event.ok_or_else(|| {
            let count = self.0.len();
            PyIndexError::new_err(format!("no event {index}; the batch has {count}"))
        })?;
        Ok(event.bytes())
    }
}

#[pymethods]
impl ChangeEvents {
    #[new]
    #[pyo3(signature = (events = Vec::new()))]
    fn new(events: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let slices = events.iter().map(|event| Ok(Slice::whole(input(event)?)));
        Ok(Self(slices.collect::<PyResult<_>>()?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.event(index)?))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let events = self.slices().map(|event| PyBytes::new(py, event));
        let events: Vec<_> = events.collect();
        PyList::new(py, events)?.try_iter()
    }

    /// Returns the resume token of an event as BSON.
    fn token<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let token = token_of(self.event(index)?);
        Ok(token.map(|token| PyBytes::new(py, token.bytes())))
    }

    /// Returns the cluster time of an event.
    fn time(&self, index: isize) -> PyResult<Option<ClusterTime>> {
        Ok(cluster_time(self.event(index)?).map(Into::into))
    }

    /// Returns the events after a resume token; `token` is its `_data`.
    fn after(&self, py: Python<'_>, token: &str) -> PyResult<Self> {
        let later = py.detach(|| {
            let place = StreamPlace::from_hex(token.as_bytes())?;
            let mut later = Vec::new();
            for event in &self.0 {
                if place.is_before(event.bytes())? {
                    later.push(event.clone());
                }
            }
            Ok(later)
        });
        let later = later.map_err(|error: mongo_encoder::stream_place::TokenError| {
            PyValueError::new_err(error.to_string())
        })?;
        Ok(Self(later))
    }

    fn __repr__(&self) -> String {
        format!("<ChangeEvents: {}>", self.0.len())
    }
}
