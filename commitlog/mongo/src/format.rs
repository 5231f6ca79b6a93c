//! How events look, as the configuration asks for it.

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
    /// The change event as the server sends it.
    Native,
}

impl Layout {
    pub const ALL: [Self; 3] = [Self::Debezium3, Self::Debezium21, Self::Native];

    pub fn name(self) -> &'static str {
        match self {
            Self::Debezium3 => "debezium-3",
            Self::Debezium21 => "debezium-2.1",
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

/// Everything that shapes events besides what happened.
#[derive(Debug, Clone, Default)]
pub struct EventFormat {
    pub topic_prefix: String,
    pub connector_version: String,
    pub replica_set: String,
    /// Who reads; never part of an identity.
    pub node_id: String,
    pub layout: Layout,
    pub document_json: DocumentJson,
    /// Whether a delete is followed by a message without a value.
    pub tombstones: bool,
    /// Letters of `op` that give no message.
    pub skipped_operations: Vec<&'static str>,
    /// Where begin and end of transactions go; None: events are told nothing of their transaction.
    pub transaction_topic: Option<String>,
    /// What is left out of values, and renamed in them.
    pub fields: FieldRules,
}

impl EventFormat {
    /// How messages of a transaction name a collection, which is given as `database.collection`: in front of it
    /// Debezium had the replica set until it read sharded clusters by one stream.
    pub(crate) fn data_collection(&self, collection: &str) -> String {
        match self.layout {
            Layout::Debezium21 => format!("{}.{collection}", self.replica_set),
            Layout::Debezium3 | Layout::Native => collection.to_owned(),
        }
    }
}
