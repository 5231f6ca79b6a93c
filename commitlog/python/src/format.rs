//! `EventFormat`.

use std::sync::Arc;

use commitlog_events::format::{
    self, CounterEvents, DecimalFormat, OpStyle, PartitionBy, TableFilter,
};
use commitlog_events::value::{DecimalMode, DurationMode, ValueModes, VarintMode};
use event_encoding::avro_names::NameAdjustment;
use event_encoding::encoding::Encoding;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::avro::SchemaIds;

/// How events look and which tables are published.
#[pyclass(frozen, module = "commitlog")]
pub struct EventFormat(pub Arc<format::EventFormat>);

#[pymethods]
impl EventFormat {
    #[new]
    #[pyo3(signature = (*, topic_prefix, cluster, node_id,
        connector_version = env!("CARGO_PKG_VERSION").to_owned(), cells = true,
        op_style = "native", partition_by = "partition_key", counter_events = "skip", include = Vec::new(),
        exclude = Vec::new(), all_tables = false, exclude_columns = Vec::new(), names = "none",
        decimal = "double", varint = "long", duration = "nanos", key = "json", value = "json",
        key_decimals = "base64", value_decimals = "base64", schema_ids = None, tombstones = false))]
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
        exclude_columns: Vec<[String; 3]>,
        names: &str,
        decimal: &str,
        varint: &str,
        duration: &str,
        key: &str,
        value: &str,
        key_decimals: &str,
        value_decimals: &str,
        schema_ids: Option<&SchemaIds>,
        tombstones: bool,
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
            tombstones,
            op_style,
            partition_by,
            counter_events,
            modes: ValueModes {
                decimal: match decimal {
                    "double" => DecimalMode::Double,
                    "precise" => DecimalMode::Precise,
                    "string" => DecimalMode::String,
                    other => return Err(unknown("decimal", other)),
                },
                varint: match varint {
                    "long" => VarintMode::Long,
                    "precise" => VarintMode::Precise,
                    "string" => VarintMode::String,
                    other => return Err(unknown("varint", other)),
                },
                duration: match duration {
                    "nanos" => DurationMode::Nanos,
                    "precise" => DurationMode::Precise,
                    "string" => DurationMode::String,
                    other => return Err(unknown("duration", other)),
                },
            },
            tables,
            excluded: exclude_columns,
            names: match names {
                "none" => NameAdjustment::None,
                "avro" => NameAdjustment::Avro,
                "avro_unicode" => NameAdjustment::AvroUnicode,
                other => return Err(unknown("names", other)),
            },
            key: encoding("key", key)?,
            value: encoding("value", value)?,
            key_decimals: decimals("key_decimals", key_decimals)?,
            value_decimals: decimals("value_decimals", value_decimals)?,
            schema_ids: schema_ids.map(|ids| Arc::clone(&ids.0)).unwrap_or_default(),
        })))
    }

    fn admits(&self, keyspace: &str, table: &str) -> bool {
        self.0.tables.admits(keyspace, table)
    }
}

fn decimals(argument: &str, name: &str) -> PyResult<DecimalFormat> {
    match name {
        "base64" => Ok(DecimalFormat::Base64),
        "numeric" => Ok(DecimalFormat::Numeric),
        other => Err(unknown(argument, other)),
    }
}

fn encoding(argument: &str, name: &str) -> PyResult<Encoding> {
    match name {
        "json" => Ok(Encoding::Json),
        "avro" => Ok(Encoding::Avro),
        "json_with_schema" => Ok(Encoding::JsonWithSchema),
        "string" => Ok(Encoding::Text),
        other => Err(unknown(argument, other)),
    }
}

pub fn unknown(argument: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{value}\" is not known"))
}
