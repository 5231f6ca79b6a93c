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
    /// As the incumbent's connector sends them now.
    Current {
        /// Whether `source` has the epoch of the table (`event.source.epoch`).
        has_epoch: bool,
    },
    /// As its releases 1.x did: `ts_micro`, a boolean `snapshot`, no ranges in other events
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

/// What chooses the Kafka partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PartitionBy {
    /// The raw partition key: everything of a partition stays in order.
    #[default]
    PartitionKey,
    /// The whole message key, as the incumbent does.
    Key,
}

/// What JSON makes of Connect's decimals, which exact varints are (`decimal.format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalFormat {
    /// Their bytes.
    #[default]
    Base64,
    /// A number with all digits.
    Numeric,
}

/// What becomes of counter tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CounterEvents {
    /// Nothing: their updates are counted.
    #[default]
    Skip,
    /// Events with the shards that leaders wrote.
    Shards,
}

/// Everything that shapes events besides the mutation and its schema.
#[derive(Debug, Clone, Default)]
pub struct EventFormat {
    pub topic_prefix: String,
    pub topic_delimiter: Delimiter,
    pub connector_version: String,
    pub cluster: String,
    pub node_id: String,
    /// Whether the value has the member `cells`.
    pub cells: bool,
    /// Whether a message without a value follows each deletion of a row or a partition.
    pub tombstones: bool,
    pub op_style: OpStyle,
    pub layout: Layout,
    pub partition_by: PartitionBy,
    pub counter_events: CounterEvents,
    pub skipped: SkippedOps,
    /// Of keys and values, but for `key_decimals` and `value_decimals`.
    pub modes: ValueModes,
    pub key_decimals: DecimalFormat,
    pub value_decimals: DecimalFormat,
    pub tables: TableFilter,
    /// Columns that are left out: keyspace, table, column.
    pub excluded: Vec<[String; 3]>,
    pub names: NameAdjustment,
    pub key: Encoding,
    pub value: Encoding,
    /// What Avro needs.
    pub schema_ids: Arc<SchemaIds>,
}

impl EventFormat {
    /// Columns whose name in events has a suffix because an older column has the name: each with
    /// that name.
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

    /// The topic of a table.
    pub fn topic(&self, keyspace: &str, table: &str) -> String {
        table_topic(&self.topic_prefix, &self.topic_delimiter, keyspace, table)
    }

    /// How values in keys are written.
    pub fn key_modes(&self) -> ValueModes {
        self.modes_with(self.key_decimals)
    }

    /// How values in values are written.
    pub fn value_modes(&self) -> ValueModes {
        self.modes_with(self.value_decimals)
    }

    fn modes_with(&self, decimals: DecimalFormat) -> ValueModes {
        match decimals {
            DecimalFormat::Base64 => self.modes,
            DecimalFormat::Numeric => self.modes.with_digits(),
        }
    }

    /// Whether a column that is no part of the key is left out.
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
    /// Patterns over `keyspace.table`, matched whole; empty means all.
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    /// Tables without `cdc = true` too.
    pub all_tables: bool,
}

impl TableFilter {
    /// The error names the pattern.
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

    /// Whether a table passes `include` and `exclude`.
    pub fn admits(&self, keyspace: &str, table: &str) -> bool {
        let name = format!("{keyspace}.{table}");
        let matches = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(&name));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }
}
