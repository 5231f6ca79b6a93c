//! The configured format of messages.

use std::sync::Arc;

use event_encoding::avro_names::NameAdjustment;
pub use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::SchemaIds;
use event_encoding::topic_names::{Delimiter, LONGEST, replace};

use crate::fields::FieldRules;
use crate::json::Flavour;

/// The layout of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// The envelope of Debezium 3.
    #[default]
    Debezium3,
    /// The envelope of Debezium 2.1.
    Debezium21,
    /// The envelope of Debezium 1.4 to 1.7.
    Debezium1,
    /// The change event as the server sends it.
    Native,
}

impl Layout {
    pub const NAMES: [(&str, Self); 4] = [
        ("debezium-3", Self::Debezium3),
        ("debezium-2.1", Self::Debezium21),
        ("debezium-1.x", Self::Debezium1),
        ("mongodb", Self::Native),
    ];
}

/// The extended JSON of documents; keys do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentJson {
    /// Strict for documents, relaxed for fields of updates: Debezium's default.
    #[default]
    Legacy,
    Strict,
    Extended,
    Relaxed,
}

impl DocumentJson {
    pub const NAMES: [(&str, Self); 4] = [
        ("legacy", Self::Legacy),
        ("strict", Self::Strict),
        ("extended", Self::Extended),
        ("relaxed", Self::Relaxed),
    ];

    pub(crate) fn of_documents(self) -> Flavour {
        match self {
            Self::Legacy | Self::Strict => Flavour::Strict,
            Self::Extended => Flavour::Canonical,
            Self::Relaxed => Flavour::Relaxed,
        }
    }

    pub(crate) fn of_updated_fields(self) -> Flavour {
        match self {
            Self::Legacy => Flavour::Spaced,
            other => other.of_documents(),
        }
    }
}

/// All options of the encoding.
#[derive(Debug, Clone, Default)]
pub struct EventFormat {
    pub topic_prefix: String,
    pub topic_delimiter: Delimiter,
    pub connector_version: String,
    pub replica_set: String,
    /// The reading agent; not a part of event ids.
    pub node_id: String,
    pub layout: Layout,
    pub document_json: DocumentJson,
    /// Whether `source` is that of releases before 0.10, in the layout of Debezium 1.
    pub is_first_source: bool,
    /// Whether a tombstone follows a delete.
    pub tombstones: bool,
    /// Letters of `op` that are skipped.
    pub skipped_operations: Vec<&'static str>,
    /// Topic of begin and end of transactions; without it messages have no transaction metadata.
    pub transaction_topic: Option<String>,
    /// Topic of DDL events. Without it they go to the topic of their collection in the native
    /// layout; other layouts skip them.
    pub schema_topic: Option<String>,
    /// Fields that are excluded from values or renamed there.
    pub fields: FieldRules,
    pub key: Encoding,
    pub value: Encoding,
    /// Adjustment of schema names.
    pub names: NameAdjustment,
    /// Ids of Avro schemas.
    pub schema_ids: Arc<SchemaIds>,
}

/// Returns the adjustment of names in an encoding: Avro allows no unadjusted names.
pub(crate) fn names_in(encoding: Encoding, names: NameAdjustment) -> NameAdjustment {
    match encoding {
        Encoding::Avro => names.for_avro(),
        _ => names,
    }
}

/// Adjusts the names of a path, which dots join.
pub(crate) fn adjust_path(path: &str, adjust: impl Fn(&str) -> String) -> String {
    path.split('.').map(adjust).collect::<Vec<_>>().join(".")
}

impl EventFormat {
    /// `prefix.database.collection`, or less. Characters that Kafka forbids become `_`, one for
    /// each UTF-16 code unit as in Debezium; the name is cut to Kafka's limit.
    pub(crate) fn topic(&self, parts: &[&str]) -> String {
        let parts = [&[self.topic_prefix.as_str()], parts].concat();
        replace(&parts.join(&self.topic_delimiter.0))
            .take(LONGEST)
            .collect()
    }

    /// Whether DDL events have messages.
    pub(crate) fn publishes_ddl(&self) -> bool {
        self.schema_topic.is_some() || self.layout == Layout::Native
    }

    /// The name of `database.collection` in messages of a transaction. Debezium put the replica set
    /// before it until it read sharded clusters by one stream.
    pub(crate) fn data_collection(&self, collection: &str) -> String {
        match self.layout {
            Layout::Debezium21 | Layout::Debezium1 => format!("{}.{collection}", self.replica_set),
            Layout::Debezium3 | Layout::Native => collection.to_owned(),
        }
    }
}
