//! The Python classes `Schema`, `Table`, `SchemaChanges` and `MetadataLogEntry`.

use std::sync::Arc;

use commitlog_core::schema::{self, EntryContent, TableKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::from_schema_error;

/// The properties of a table that Python code uses.
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
    fn opaque_columns(&self) -> Vec<&str> {
        let columns = self.0.opaque_columns();
        columns.map(|column| column.name.as_str()).collect()
    }

    #[getter]
    fn counter(&self) -> bool {
        self.0.counter
    }
}

/// An entry of `system.local_metadata_log`.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct MetadataLogEntry {
    epoch: i64,
    keyspace: Option<String>,
    cql: Option<String>,
    error: Option<String>,
}

impl From<&schema::MetadataLogEntry> for MetadataLogEntry {
    fn from(entry: &schema::MetadataLogEntry) -> Self {
        let statement = entry.statement().cloned();
        let (keyspace, cql) = statement.map_or((None, None), |s| (s.keyspace, Some(s.cql)));
        Self {
            epoch: entry.epoch,
            keyspace,
            cql,
            error: match &entry.content {
                EntryContent::Unreadable { reason } => Some(reason.clone()),
                _ => None,
            },
        }
    }
}

/// Schema changes from the log.
#[pyclass(frozen, module = "commitlog")]
pub struct SchemaChanges(Arc<[schema::SchemaChange]>);

impl SchemaChanges {
    pub fn from_changes(changes: &[schema::SchemaChange]) -> Option<Self> {
        (!changes.is_empty()).then(|| Self(changes.into()))
    }

    pub fn as_slice(&self) -> &[schema::SchemaChange] {
        &self.0
    }
}

#[pymethods]
impl SchemaChanges {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn keyspaces(&self) -> Vec<&str> {
        self.0.iter().map(schema::SchemaChange::keyspace).collect()
    }

    #[getter]
    fn entries(&self) -> Vec<MetadataLogEntry> {
        let entries = self.0.iter().filter_map(schema::SchemaChange::entry);
        entries.map(MetadataLogEntry::from).collect()
    }
}

/// All known tables by id.
#[pyclass(frozen, eq, module = "commitlog")]
pub struct Schema(pub Arc<schema::Schema>);

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}

#[pymethods]
impl Schema {
    #[staticmethod]
    #[pyo3(signature = (text, *, seen_at_us = 0))]
    fn from_cql(py: Python<'_>, text: &str, seen_at_us: i64) -> PyResult<Self> {
        py.detach(|| schema::parse_cql(text))
            .map(|schema| Self(Arc::new(schema.seen_at(seen_at_us))))
            .map_err(|error| from_schema_error(&error))
    }

    #[staticmethod]
    #[pyo3(signature = (rows, *, seen_at_us = 0))]
    fn from_system_rows(py: Python<'_>, rows: &[u8], seen_at_us: i64) -> PyResult<Self> {
        py.detach(|| schema::parse_system_rows(rows))
            .map(|schema| Self(Arc::new(schema.seen_at(seen_at_us))))
            .map_err(|error| from_schema_error(&error))
    }

    #[staticmethod]
    fn from_stored(py: Python<'_>, stored: &[u8]) -> PyResult<Self> {
        py.detach(|| schema::Schema::from_stored(stored))
            .map(|schema| Self(Arc::new(schema)))
            .map_err(|error| from_schema_error(&error))
    }

    fn to_stored<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let stored = py.detach(|| self.0.to_stored());
        PyBytes::new(py, stored.as_bytes())
    }

    fn merged(&self, py: Python<'_>, newer: &Self) -> Self {
        py.detach(|| Self(Arc::new(self.0.merged(&newer.0))))
    }

    fn with_changes(&self, changes: &SchemaChanges) -> Self {
        Self(Arc::new(self.0.with_changes(changes.0.iter())))
    }

    fn bounded(&self, py: Python<'_>, alive: &Self, limit: usize) -> Self {
        py.detach(|| Self(Arc::new(self.0.bounded(&alive.0, limit))))
    }

    fn tables(&self) -> Vec<Table> {
        let tables = self.0.tables();
        tables.into_iter().cloned().map(Table).collect()
    }

    fn __len__(&self) -> usize {
        self.0.tables().len()
    }
}
