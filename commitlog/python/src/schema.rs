//! `Schema` and `Table`.

use std::sync::Arc;

use commitlog_core::schema::{self, TableKind};
use pyo3::prelude::*;

use crate::error::from_schema_error;

/// A table as far as Python needs it.
#[pyclass(frozen, module = "commitlog")]
pub struct Table(Arc<schema::Table>);

#[pymethods]
impl Table {
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    #[getter]
    fn keyspace(&self) -> &str {
        &self.0.keyspace
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            TableKind::Table => "table",
            TableKind::View => "view",
        }
    }

    #[getter]
    fn cdc(&self) -> bool {
        self.0.cdc
    }

    #[getter]
    fn counter(&self) -> bool {
        self.0.counter
    }
}

/// All tables that are known, by id.
#[pyclass(frozen, eq, module = "commitlog")]
#[derive(PartialEq)]
pub struct Schema(pub Arc<schema::Schema>);

#[pymethods]
impl Schema {
    #[staticmethod]
    fn from_cql(text: &str) -> PyResult<Self> {
        schema::parse_cql(text)
            .map(|schema| Self(Arc::new(schema)))
            .map_err(|error| from_schema_error(&error))
    }

    #[staticmethod]
    fn from_system_rows(rows: &[u8]) -> PyResult<Self> {
        schema::parse_system_rows(rows)
            .map(|schema| Self(Arc::new(schema)))
            .map_err(|error| from_schema_error(&error))
    }

    fn merged(&self, newer: &Self) -> Self {
        Self(Arc::new(self.0.merged(&newer.0)))
    }

    fn tables(&self) -> Vec<Table> {
        let tables = self.0.tables();
        tables.into_iter().cloned().map(Table).collect()
    }

    fn __len__(&self) -> usize {
        self.0.tables().len()
    }
}
