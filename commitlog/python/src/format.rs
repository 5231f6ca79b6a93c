//! The Python class `EventFormat`.

use std::sync::Arc;

use commitlog_events::format::{
    self, CounterEvents, DecimalFormat, Layout, PartitionBy, TableFilter,
};
use commitlog_events::operation::{Op, OpStyle, SkippedOps};
use commitlog_events::value::{DecimalMode, DurationMode, ValueModes, VarintMode};
use event_encoding::encoding::Encoding;
use event_encoding::topic_names::Delimiter;
use event_encoding_python::choices::{NAMES, choose, unknown};
use event_encoding_python::schema_ids::SchemaIds;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::schema::Schema;

const OP_STYLES: [(&str, OpStyle); 2] =
    [("native", OpStyle::Native), ("envelope", OpStyle::Envelope)];
const LAYOUTS: [(&str, Layout); 2] = [
    ("debezium-3", Layout::Current { has_epoch: false }),
    ("debezium-1.x", Layout::DebeziumV1),
];
const PARTITION_BY: [(&str, PartitionBy); 2] = [
    ("partition_key", PartitionBy::PartitionKey),
    ("key", PartitionBy::Key),
];
const COUNTER_EVENTS: [(&str, CounterEvents); 2] = [
    ("skip", CounterEvents::Skip),
    ("shards", CounterEvents::Shards),
];
const DECIMALS: [(&str, DecimalMode); 3] = [
    ("double", DecimalMode::Double),
    ("precise", DecimalMode::Precise),
    ("string", DecimalMode::String),
];
const VARINTS: [(&str, VarintMode); 3] = [
    ("long", VarintMode::Long),
    ("precise", VarintMode::Precise),
    ("string", VarintMode::String),
];
const DURATIONS: [(&str, DurationMode); 3] = [
    ("nanos", DurationMode::Nanos),
    ("precise", DurationMode::Precise),
    ("string", DurationMode::String),
];
const DECIMAL_FORMATS: [(&str, DecimalFormat); 2] = [
    ("base64", DecimalFormat::Base64),
    ("numeric", DecimalFormat::Numeric),
];
const ENCODINGS: [(&str, Encoding); 5] = [
    ("json", Encoding::Json),
    ("json_with_schema", Encoding::JsonWithSchema),
    ("avro", Encoding::Avro),
    ("protobuf", Encoding::Protobuf),
    ("string", Encoding::Text),
];

/// How events are encoded, and which tables are published.
#[pyclass(frozen, module = "commitlog")]
pub struct EventFormat(pub Arc<format::EventFormat>);

#[pymethods]
impl EventFormat {
    #[new]
    #[pyo3(signature = (*, topic_prefix, cluster, node_id, topic_delimiter = ".",
        connector_version = env!("CARGO_PKG_VERSION").to_owned(), cells = true,
        op_style = "native", partition_by = "partition_key", counter_events = "skip", include = Vec::new(),
        exclude = Vec::new(), all_tables = false, exclude_columns = Vec::new(), names = "none",
        decimal = "double", varint = "long", duration = "nanos", key = "json", value = "json",
        key_decimals = "base64", value_decimals = "base64", schema_ids = None, tombstones = false,
        skipped_operations = Vec::new(), layout = "debezium-3", source_epoch = false))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        topic_prefix: String,
        cluster: String,
        node_id: String,
        topic_delimiter: &str,
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
        skipped_operations: Vec<String>,
        layout: &str,
        source_epoch: bool,
    ) -> PyResult<Self> {
        let include = include.iter().map(String::as_str);
        let exclude = exclude.iter().map(String::as_str);
        let tables =
            TableFilter::new(include, exclude, all_tables).map_err(PyValueError::new_err)?;
        Ok(Self(Arc::new(format::EventFormat {
            topic_prefix,
            topic_delimiter: Delimiter(topic_delimiter.to_owned()),
            connector_version,
            cluster,
            node_id,
            cells,
            tombstones,
            op_style: choose("op_style", op_style, &OP_STYLES)?,
            layout: match choose("layout", layout, &LAYOUTS)? {
                Layout::Current { .. } => Layout::Current {
                    has_epoch: source_epoch,
                },
                Layout::DebeziumV1 => Layout::DebeziumV1,
            },
            partition_by: choose("partition_by", partition_by, &PARTITION_BY)?,
            counter_events: choose("counter_events", counter_events, &COUNTER_EVENTS)?,
            modes: ValueModes {
                decimal: choose("decimal", decimal, &DECIMALS)?,
                varint: choose("varint", varint, &VARINTS)?,
                duration: choose("duration", duration, &DURATIONS)?,
            },
            skipped: skipped(&skipped_operations)?,
            tables,
            excluded: exclude_columns,
            names: choose("names", names, &NAMES)?,
            key: choose("key", key, &ENCODINGS)?,
            value: choose("value", value, &ENCODINGS)?,
            key_decimals: choose("key_decimals", key_decimals, &DECIMAL_FORMATS)?,
            value_decimals: choose("value_decimals", value_decimals, &DECIMAL_FORMATS)?,
            schema_ids: schema_ids.map(|ids| Arc::clone(&ids.0)).unwrap_or_default(),
        })))
    }

    fn admits(&self, keyspace: &str, table: &str) -> bool {
        self.0.tables.admits(keyspace, table)
    }

    fn suffixed_columns(&self, schema: &Schema) -> Vec<(String, String)> {
        let tables = schema.0.tables().into_iter();
        tables
            .filter(|table| table.cdc && self.admits(&table.keyspace, &table.name))
            .flat_map(|table| {
                let place = format!("{}.{}", table.keyspace, table.name);
                let columns = self.0.suffixed_columns(table).into_iter();
                columns.map(move |(column, name)| (format!("{place}.{column}"), name))
            })
            .collect()
    }

    fn topic(&self, keyspace: &str, table: &str) -> String {
        self.0.topic(keyspace, table)
    }
}

/// Parses the letters of skipped operations.
fn skipped(letters: &[String]) -> PyResult<SkippedOps> {
    let ops = letters.iter().map(|letter| {
        let mut ops = Op::ALL.into_iter();
        ops.find(|op| op.skip_letter() == Some(letter))
            .ok_or_else(|| unknown("skipped_operations", letter))
    });
    Ok(SkippedOps::new(ops.collect::<PyResult<Vec<_>>>()?))
}
