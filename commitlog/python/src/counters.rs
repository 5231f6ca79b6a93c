//! The Python class `CounterHistory`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use commitlog_events::counters;
use pyo3::prelude::*;

/// The latest shards of recently updated counters.
#[pyclass(frozen, module = "commitlog")]
pub struct CounterHistory(Mutex<counters::CounterHistory>);

impl CounterHistory {
    pub fn lock(&self) -> MutexGuard<'_, counters::CounterHistory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CounterHistory {
    #[new]
    fn new(max_bytes: usize) -> Self {
        Self(Mutex::new(counters::CounterHistory::new(max_bytes)))
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }
}
