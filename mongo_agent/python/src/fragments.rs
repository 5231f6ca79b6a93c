//! `FragmentJoiner`: joins events that the server split.

use mongo_encoder::fragments::{self, WholeEvent};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::events::{ChangeEvents, Slice};
use crate::input::Input;

/// Joins fragments across the replies of a cursor.
#[pyclass(module = "mongo_agent.encoder")]
pub struct FragmentJoiner(fragments::FragmentJoiner);

#[pymethods]
impl FragmentJoiner {
    #[new]
    #[pyo3(signature = (*, skips_split_events = false))]
    fn new(skips_split_events: bool) -> Self {
        Self(fragments::FragmentJoiner::new(skips_split_events))
    }

    /// Whether no event waits for further fragments.
    #[getter]
    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Returns whole events and the number of skipped split events.
    fn join(&mut self, events: &Bound<'_, ChangeEvents>) -> PyResult<(ChangeEvents, usize)> {
        let given = events.get();
        let (whole, skipped) = self
            .0
            .join(given.slices())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let slices = whole.into_iter().filter_map(|event| match event {
            WholeEvent::Given(index) => given.get(index).cloned(),
            WholeEvent::Joined(bytes) => Some(Slice::whole(Input::Copied(bytes))),
        });
        Ok((ChangeEvents::from_slices(slices.collect()), skipped))
    }
}
