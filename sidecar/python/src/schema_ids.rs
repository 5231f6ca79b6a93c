//! `SchemaIds` and `Unregistered`: schema ids of a registry for Avro and Protobuf.

use std::sync::Arc;

use event_encoding::schema_ids;
use pyo3::prelude::*;

/// A schema that has no id yet.
#[pyclass(frozen, eq, hash, module = "sidecar.encoding")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Unregistered(pub schema_ids::UnregisteredSchema);

impl Unregistered {
    pub fn list(schemas: impl IntoIterator<Item = schema_ids::UnregisteredSchema>) -> Vec<Self> {
        schemas.into_iter().map(Self).collect()
    }
}

#[pymethods]
impl Unregistered {
    #[getter]
    fn side(&self) -> &'static str {
        self.0.part.name()
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

    #[getter]
    fn schema_type(&self) -> &'static str {
        self.0.language.name()
    }
}

/// Ids that a registry assigned to schemas.
#[pyclass(frozen, module = "sidecar.encoding")]
pub struct SchemaIds(pub Arc<schema_ids::SchemaIds>);

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
        self.0.set(&schema.0, id);
    }

    fn forget_all(&self) {
        self.0.forget_all();
    }

    fn abandon(&self, schema: &Unregistered) {
        self.0.abandon(&schema.0);
    }
}
