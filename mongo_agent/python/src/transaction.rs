//! `MongoTransaction`: an open transaction, passed from batch to batch and stored with offsets.

use std::collections::BTreeMap;

use mongo_encoder::transaction::OpenTransaction;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An open transaction.
#[pyclass(frozen, eq, module = "mongo_agent.encoder")]
#[derive(PartialEq)]
pub struct MongoTransaction(pub OpenTransaction);

#[pymethods]
impl MongoTransaction {
    #[new]
    #[pyo3(signature = (*, id, time, ts_ms, counts))]
    fn new(id: String, time: (u32, u32), ts_ms: i64, counts: BTreeMap<String, u64>) -> Self {
        Self(OpenTransaction {
            id,
            time: time.into(),
            ts_ms,
            counts,
        })
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        OpenTransaction::from_json(text)
            .map(Self)
            .map_err(|error| PyValueError::new_err(format!("not a transaction: {error}")))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    #[getter]
    fn time(&self) -> (u32, u32) {
        self.0.time.into()
    }

    #[getter]
    fn ts_ms(&self) -> i64 {
        self.0.ts_ms
    }

    #[getter]
    fn counts(&self) -> BTreeMap<String, u64> {
        self.0.counts.clone()
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.events()
    }

    fn __repr__(&self) -> String {
        let (id, events) = (&self.0.id, self.0.events());
        format!("<MongoTransaction {id}: {events} events>")
    }
}
