//! The configured encoding of events.

use std::sync::Arc;

use event_encoding::encoding::Encoding;
use regex::Regex;

use crate::operation::{OpStyle, SkippedOps};
use crate::table_names::suffixed_columns;
use crate::value::ValueModes;
use commitlog_core::schema::Table;
use event_encoding::avro_names::NameAdjustment;
use event_encoding::schema_ids::SchemaIds;
use event_encoding::topic_names::{Delimiter, table_topic};

/// The members of `source` and of `after` (`event.layout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As in current releases of Debezium's connector.
    Current {
        /// Whether `source` contains the table's epoch (`event.source.epoch`).
        has_epoch: bool,
    },
    /// As in Debezium 1.x: `ts_micro`, a boolean `snapshot`, and range members only in range events
    /// (`LegacyV1CassandraSourceInfoStructMaker`).
    DebeziumV1,
}

impl Layout {
    pub fn is_current(self) -> bool {
        self != Self::DebeziumV1
    }

    pub fn has_epoch(self) -> bool {
        self == Self::Current { has_epoch: true }
    }
}

impl Default for Layout {
    fn default() -> Self {
        Self::Current { has_epoch: false }
    }
}

/// What determines the Kafka partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PartitionBy {
    /// The raw partition key, so that all events of a partition stay in order.
    #[default]
    PartitionKey,
    /// The whole message key, as in Debezium.
    Key,
}

/// How JSON represents Connect decimals, the type of exact varints (`decimal.format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalFormat {
    /// The bytes as base64.
    #[default]
    Base64,
    /// A number with all digits.
    Numeric,
}

/// Whether counter tables are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CounterEvents {
    /// Counts the updates without publishing them.
    #[default]
    Skip,
    /// Publishes events with the shards that leaders wrote.
    Shards,
}

/// The settings that affect events.
#[derive(Debug, Clone, Default)]
pub struct EventFormat {
    pub topic_prefix: String,
    pub topic_delimiter: Delimiter,
    pub connector_version: String,
    pub cluster: String,
    pub node_id: String,
    /// Whether values contain the member `cells`.
    pub cells: bool,
    /// Whether a message without a value follows each deletion of a row or partition.
    pub tombstones: bool,
    pub op_style: OpStyle,
    pub layout: Layout,
    pub partition_by: PartitionBy,
    pub counter_events: CounterEvents,
    pub skipped: SkippedOps,
    /// Modes of keys and values, which `key_decimals` and `value_decimals` refine.
    pub modes: ValueModes,
    pub key_decimals: DecimalFormat,
    pub value_decimals: DecimalFormat,
    pub tables: TableFilter,
    /// Excluded columns: keyspace, table, column.
    pub excluded: Vec<[String; 3]>,
    pub names: NameAdjustment,
    pub key: Encoding,
    pub value: Encoding,
    /// The schema ids that Avro and Protobuf need.
    pub schema_ids: Arc<SchemaIds>,
}

impl EventFormat {
    /// Returns column and name in events for each column that gets a suffix in events because an
    /// older column already uses its name.
    pub fn suffixed_columns(&self, table: &Arc<Table>) -> Vec<(String, String)> {
        let has_schema = [self.key, self.value]
            .iter()
            .any(|encoding| matches!(encoding, Encoding::Avro | Encoding::Protobuf));
        let names = if has_schema {
            self.names.for_avro()
        } else {
            self.names
        };
        suffixed_columns(names, table)
    }

    /// Returns the topic of a table.
    pub fn topic(&self, keyspace: &str, table: &str) -> String {
        table_topic(&self.topic_prefix, &self.topic_delimiter, keyspace, table)
    }

    /// Returns the modes of message keys.
    pub fn key_modes(&self) -> ValueModes {
        self.modes_with(self.key_decimals)
    }

    /// Returns the modes of message values.
    pub fn value_modes(&self) -> ValueModes {
        self.modes_with(self.value_decimals)
    }

    fn modes_with(&self, decimals: DecimalFormat) -> ValueModes {
        match decimals {
            DecimalFormat::Base64 => self.modes,
            DecimalFormat::Numeric => self.modes.with_digits(),
        }
    }

    /// Returns whether a non-key column is excluded.
    pub fn leaves_out(&self, keyspace: &str, table: &str, column: &str) -> bool {
        let name = [keyspace, table, column];
        self.excluded
            .iter()
            .any(|excluded| excluded.iter().eq(name))
    }
}

/// Which tables are published.
#[derive(Debug, Clone, Default)]
pub struct TableFilter {
    /// Patterns that must match the whole `keyspace.table`; no patterns match every table.
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    /// Whether tables without `cdc = true` are published too.
    pub all_tables: bool,
}

impl TableFilter {
    /// Compiles the patterns; an error contains the invalid pattern.
    pub fn new<'a>(
        include: impl IntoIterator<Item = &'a str>,
        exclude: impl IntoIterator<Item = &'a str>,
        all_tables: bool,
    ) -> Result<Self, String> {
        let whole = |pattern: &str| {
            Regex::new(&format!("^(?:{pattern})$"))
                .map_err(|error| format!("\"{pattern}\" is not a regular expression: {error}"))
        };
        Ok(Self {
            include: include.into_iter().map(whole).collect::<Result<_, _>>()?,
            exclude: exclude.into_iter().map(whole).collect::<Result<_, _>>()?,
            all_tables,
        })
    }

    /// Returns whether a table passes `include` and `exclude`.
    pub fn admits(&self, keyspace: &str, table: &str) -> bool {
        let name = format!("{keyspace}.{table}");
        let matches = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(&name));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }
}
