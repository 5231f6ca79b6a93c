//! `RowDecoder` decodes raw rows of a table into a `RowBatch`, through Arrow's C data interface.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StructArray;
use commitlog_arrow_ffi::{Capsules, export_batch, export_schema, import_batch};
use commitlog_core::schema;
use commitlog_python::error::SchemaError;
use commitlog_python::schema::Schema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use spark_arrow::{Names, Rendering, Table};

use crate::error::from_decode_error;

/// Decodes batches of one table.
#[pyclass(frozen, module = "spark_jobs._rows")]
pub struct RowDecoder {
    table: Table,
    schema: Arc<schema::Schema>,
}

#[pymethods]
impl RowDecoder {
    #[new]
    #[pyo3(signature = (schema, keyspace, table, *, table_id = None, show = BTreeMap::new(),
        partition_key = None, clustering = None, carry = Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        schema: &Schema,
        keyspace: &str,
        table: &str,
        table_id: Option<&str>,
        show: BTreeMap<String, String>,
        partition_key: Option<String>,
        clustering: Option<String>,
        carry: Vec<String>,
    ) -> PyResult<Self> {
        let found = find(&schema.0, keyspace, table, table_id)?;
        let renderings = renderings(keyspace, table, &show)?;
        let names = Names {
            partition_key,
            clustering,
            carried: carry,
        };
        Ok(Self {
            table: Table::new(found, &renderings, names).map_err(from_decode_error)?,
            schema: Arc::new(schema::Schema::new([found.clone()])),
        })
    }

    #[getter]
    fn table_schema(&self) -> Schema {
        Schema(Arc::clone(&self.schema))
    }

    fn decode(&self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<RowBatch> {
        let batch = import_batch(batch)?;
        py.detach(|| self.table.decode(&batch))
            .map(RowBatch)
            .map_err(from_decode_error)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.table.fields())
    }
}

/// Typed rows.
#[pyclass(frozen, module = "spark_jobs._rows")]
pub struct RowBatch(pub StructArray);

#[pymethods]
impl RowBatch {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        // The interface allows the producer to ignore the requested schema.
        let _ = requested_schema;
        export_batch(py, &self.0)
    }
}

/// Parses the rendering of each column in `show`.
fn renderings(
    keyspace: &str,
    table: &str,
    show: &BTreeMap<String, String>,
) -> PyResult<Vec<(String, Rendering)>> {
    let parse = |(column, text): (&String, &String)| match Rendering::parse(text) {
        Ok(rendering) => Ok((column.clone(), rendering)),
        Err(reason) => Err(PyValueError::new_err(format!(
            "{keyspace}.{table}, column {column}: {reason}"
        ))),
    };
    show.iter().map(parse).collect()
}

/// Finds the only table with this name and, if given, this id.
pub fn find<'s>(
    schema: &'s schema::Schema,
    keyspace: &str,
    table: &str,
    table_id: Option<&str>,
) -> PyResult<&'s schema::Table> {
    let mut found: Vec<_> = schema
        .tables()
        .into_iter()
        .filter(|known| known.keyspace == keyspace && known.name == table)
        .filter(|known| table_id.is_none_or(|id| known.id.to_string() == id))
        .collect();
    let rejected =
        |reason: String| SchemaError::new_err(format!("schema: {keyspace}.{table}: {reason}"));
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            let ids = found.iter().map(|known| known.id).chain([last.id]);
            let ids: Vec<_> = ids.map(|id| id.to_string()).collect();
            let reason = format!(
                "several tables have this name; set `table_id` to one of {}",
                ids.join(", ")
            );
            Err(rejected(reason))
        }
        (None, _) => Err(rejected("there is no such table".to_owned())),
    }
}
