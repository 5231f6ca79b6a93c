//! `MongoEvents`: the events of a server's reply, where they lie.

use std::ops::Range;

use mongo_encoder::reply::parse_reply;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};

use super::input::{Input, input};

/// Raw events as slices of one reply, which they keep.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct MongoEvents {
    reply: Input,
    places: Vec<Range<usize>>,
}

impl MongoEvents {
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let reply = self.reply.bytes();
        let slice = |place: &Range<usize>| reply.get(place.clone()).unwrap_or_default();
        self.places.iter().map(slice)
    }
}

#[pymethods]
impl MongoEvents {
    fn __len__(&self) -> usize {
        self.places.len()
    }

    /// A negative index counts from the end.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyBytes>> {
        let number = match usize::try_from(index) {
            Ok(number) => Some(number),
            Err(_) => self.places.len().checked_sub(index.unsigned_abs()),
        };
        let place = number
            .and_then(|number| self.places.get(number))
            .ok_or_else(|| PyIndexError::new_err("there is no such event"))?;
        let event = self.reply.bytes().get(place.clone());
        Ok(PyBytes::new(py, event.unwrap_or_default()))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let events = self.slices().map(|event| PyBytes::new(py, event));
        let events: Vec<_> = events.collect();
        PyList::new(py, events)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<MongoEvents: {}>", self.places.len())
    }
}

/// The events of a reply, and its cursor without them as BSON.
#[pyfunction]
pub fn events_of_reply<'py>(
    py: Python<'py>,
    reply: &Bound<'py, PyAny>,
) -> PyResult<(MongoEvents, Bound<'py, PyBytes>)> {
    let reply = input(reply)?;
    let parsed = py
        .detach(|| parse_reply(reply.bytes()))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let cursor = PyBytes::new(py, &parsed.cursor);
    let places = parsed.events;
    Ok((MongoEvents { reply, places }, cursor))
}
