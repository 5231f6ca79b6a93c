//! How events look, as the configuration asks for it.

use std::sync::Arc;

use event_encoding::avro_names::NameAdjustment;
pub use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::SchemaIds;

use crate::fields::FieldRules;
use crate::json::{Flavour, Spacing};

/// The shape of values.
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
    pub const ALL: [Self; 4] = [
        Self::Debezium3,
        Self::Debezium21,
        Self::Debezium1,
        Self::Native,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Debezium3 => "debezium-3",
            Self::Debezium21 => "debezium-2.1",
            Self::Debezium1 => "debezium-1.x",
            Self::Native => "mongodb",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

/// The extended JSON of documents; keys are not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentJson {
    /// Documents strict, the fields of updates relaxed: what Debezium does at first.
    #[default]
    Legacy,
    Strict,
    Extended,
    Relaxed,
}

impl DocumentJson {
    pub const ALL: [Self; 4] = [Self::Legacy, Self::Strict, Self::Extended, Self::Relaxed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Strict => "strict",
            Self::Extended => "extended",
            Self::Relaxed => "relaxed",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|json| json.name() == name)
    }

    pub(crate) fn of_documents(self) -> (Flavour, Spacing) {
        let flavour = match self {
            Self::Legacy | Self::Strict => Flavour::Strict,
            Self::Extended => Flavour::Canonical,
            Self::Relaxed => Flavour::Relaxed,
        };
        (flavour, Spacing::Compact)
    }

    pub(crate) fn of_updated_fields(self) -> (Flavour, Spacing) {
        match self {
            Self::Legacy => (Flavour::Relaxed, Spacing::Spaced),
            other => other.of_documents(),
        }
    }
}

/// What stands between the parts of a topic's name.
#[derive(Debug, Clone)]
pub struct Delimiter(pub String);

impl Default for Delimiter {
    fn default() -> Self {
        Self(".".to_owned())
    }
}

/// Everything that shapes events besides what happened.
#[derive(Debug, Clone, Default)]
pub struct EventFormat {
    pub topic_prefix: String,
    pub topic_delimiter: Delimiter,
    pub connector_version: String,
    pub replica_set: String,
    /// Who reads; never part of an identity.
    pub node_id: String,
    pub layout: Layout,
    pub document_json: DocumentJson,
    /// Whether `source` is that of the releases before 0.10, in the layout of Debezium 1.
    pub is_first_source: bool,
    /// Whether a delete is followed by a message without a value.
    pub tombstones: bool,
    /// Letters of `op` that give no message.
    pub skipped_operations: Vec<&'static str>,
    /// Where begin and end of transactions go; None: events are told nothing of their transaction.
    pub transaction_topic: Option<String>,
    /// Where events of no document go. None: in the native layout to the topic of what they are of, in the
    /// others they give no message.
    pub schema_topic: Option<String>,
    /// What is left out of values, and renamed in them.
    pub fields: FieldRules,
    pub key: Encoding,
    pub value: Encoding,
    /// How names of schemas are adjusted.
    pub names: NameAdjustment,
    /// What Avro needs.
    pub schema_ids: Arc<SchemaIds>,
}

impl EventFormat {
    /// `prefix.database.collection` or less of it, with `_` for what Kafka does not allow: for each UTF-16
    /// code unit, as Debezium counts, and as much of it as a topic's name may have.
    pub(crate) fn topic(&self, parts: &[&str]) -> String {
        const LONGEST: usize = 249;
        let allowed = |unit: u16| match u8::try_from(unit).map(char::from) {
            Ok(c) if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
            _ => '_',
        };
        let parts = [&[self.topic_prefix.as_str()], parts].concat();
        let name = parts.join(&self.topic_delimiter.0);
        name.encode_utf16().take(LONGEST).map(allowed).collect()
    }

    /// Whether events of no document give messages.
    pub(crate) fn tells_of_others(&self) -> bool {
        self.schema_topic.is_some() || self.layout == Layout::Native
    }

    /// How messages of a transaction name a collection, which is given as `database.collection`: in front of it
    /// Debezium had the replica set until it read sharded clusters by one stream.
    pub(crate) fn data_collection(&self, collection: &str) -> String {
        match self.layout {
            Layout::Debezium21 | Layout::Debezium1 => format!("{}.{collection}", self.replica_set),
            Layout::Debezium3 | Layout::Native => collection.to_owned(),
        }
    }
}
