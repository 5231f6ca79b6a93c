//! What is asked of raw events without encoding them.

use mongo_encoder::bson::Timestamp;
use mongo_encoder::{fragments, position};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::input::{Input, input, inputs};

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
