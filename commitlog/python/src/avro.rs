//! `SchemaIds` and `Unregistered`: what Avro needs of a schema registry.

use std::sync::Arc;

use commitlog_events::avro;
use pyo3::prelude::*;

/// A schema that has no id yet.
#[pyclass(frozen, eq, hash, module = "commitlog")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Unregistered(pub avro::Unregistered);

#[pymethods]
impl Unregistered {
    #[getter]
    fn side(&self) -> &'static str {
        self.0.side.name()
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.0.topic
    }

    #[getter]
    fn record(&self) -> &str {
        &self.0.record
    }

    #[getter]
    fn schema(&self) -> &str {
        &self.0.schema
    }
}

/// Ids that a registry gave to schemas.
#[pyclass(frozen, module = "commitlog")]
pub struct SchemaIds(pub Arc<avro::SchemaIds>);

#[pymethods]
impl SchemaIds {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn get(&self, schema: &Unregistered) -> Option<u32> {
        self.0.get(&schema.0)
    }

    fn set(&self, schema: &Unregistered, id: u32) {
        self.0.set(schema.0.clone(), id);
    }

    fn give_up(&self, schema: &Unregistered) {
        self.0.give_up(schema.0.clone());
    }
}
