//! `EventFormat`.

use std::sync::Arc;

use commitlog_events::format::{self, CounterEvents, OpStyle, PartitionBy, TableFilter};
use commitlog_events::value::ValueModes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How events look and which tables are published.
#[pyclass(frozen, module = "commitlog")]
pub struct EventFormat(pub Arc<format::EventFormat>);

#[pymethods]
impl EventFormat {
    #[new]
    #[pyo3(signature = (*, topic_prefix, cluster, node_id,
        connector_version = env!("CARGO_PKG_VERSION").to_owned(), cells = true,
        op_style = "native", partition_by = "partition_key", counter_events = "skip", include = Vec::new(),
        exclude = Vec::new(), all_tables = false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        topic_prefix: String,
        cluster: String,
        node_id: String,
        connector_version: String,
        cells: bool,
        op_style: &str,
        partition_by: &str,
        counter_events: &str,
        include: Vec<String>,
        exclude: Vec<String>,
        all_tables: bool,
    ) -> PyResult<Self> {
        let op_style = match op_style {
            "native" => OpStyle::Native,
            "envelope" => OpStyle::Envelope,
            other => return Err(unknown("op_style", other)),
        };
        let partition_by = match partition_by {
            "partition_key" => PartitionBy::PartitionKey,
            "key" => PartitionBy::Key,
            other => return Err(unknown("partition_by", other)),
        };
        let counter_events = match counter_events {
            "skip" => CounterEvents::Skip,
            "shards" => CounterEvents::Shards,
            other => return Err(unknown("counter_events", other)),
        };
        let include = include.iter().map(String::as_str);
        let exclude = exclude.iter().map(String::as_str);
        let tables =
            TableFilter::new(include, exclude, all_tables).map_err(PyValueError::new_err)?;
        Ok(Self(Arc::new(format::EventFormat {
            topic_prefix,
            connector_version,
            cluster,
            node_id,
            cells,
            op_style,
            partition_by,
            counter_events,
            value_modes: ValueModes::default(),
            tables,
        })))
    }

    fn admits(&self, keyspace: &str, table: &str) -> bool {
        self.0.tables.admits(keyspace, table)
    }
}

pub fn unknown(argument: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{value}\" is not known"))
}
