//! Many messages in one buffer, with what delivery needs to know of each.

use std::collections::BTreeMap;

use event_encoding::schema_ids::UnregisteredSchema;

use crate::bson::Timestamp;
use crate::change::Operation;
use crate::error::BsonError;
use crate::transaction::{OpenTransaction, Timeline};

/// As what events of collections that are not captured are counted.
pub const NOT_CAPTURED: &str = "not captured";

/// What a message tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Insert,
    Update,
    Replace,
    Delete,
    Read,
    /// No value: the key's older messages may go from a compacted topic.
    Tombstone,
    /// A transaction begins or ends.
    Transaction,
    /// Something happened to a collection or a database.
    Schema,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Insert,
        Self::Update,
        Self::Replace,
        Self::Delete,
        Self::Read,
        Self::Tombstone,
        Self::Transaction,
        Self::Schema,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Tombstone => "tombstone",
            Self::Transaction => "transaction",
            Self::Schema => "schema",
        }
    }
}

impl From<Operation> for Kind {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Insert => Self::Insert,
            Operation::Update => Self::Update,
            Operation::Replace => Self::Replace,
            Operation::Delete => Self::Delete,
            Operation::Read => Self::Read,
        }
    }
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub struct MessageEntry {
    pub topic: usize,
    /// Where key and value are in the buffer; the value begins behind the key.
    pub key_start: usize,
    pub value_start: usize,
    pub value_end: usize,
    pub id: [u8; 16],
    pub kind: Kind,
    /// Time of the change, microseconds.
    pub timestamp_us: i64,
    pub cluster_time: Timestamp,
    /// Kafka's murmur of the key, 31 bits.
    pub partition_hash: u32,
    /// Which of the events that were given it is of.
    pub event: usize,
}

#[derive(Debug, Clone)]
pub struct Topic {
    /// What its messages are counted as: `database.collection`, or what of it there is.
    pub subject: String,
    pub name: String,
}

/// An event that gives no message because its bytes cannot be read.
#[derive(Debug, Clone)]
pub struct Refused {
    pub event: usize,
    pub error: BsonError,
}

#[derive(Debug, Clone, Default)]
pub struct EventBatch {
    pub entries: Vec<MessageEntry>,
    pub topics: Vec<Topic>,
    /// How many events were given.
    pub events: usize,
    /// Events that gave no message by intent: those of no document and of operations that are left out by
    /// their operation, those of collections that are not captured as [`NOT_CAPTURED`].
    pub skipped: BTreeMap<String, u64>,
    pub refused: Vec<Refused>,
    /// Schemas that have no id yet. With any of them the messages have none either, and the batch is to be
    /// made again.
    pub unregistered: Vec<UnregisteredSchema>,
    /// How the transaction went on that was open in front of the batch, and those behind it.
    pub(crate) transactions: Timeline,
    pub(crate) bytes: Vec<u8>,
}

impl EventBatch {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all keys and values; a tombstone shares the key of its delete.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn key(&self, entry: &MessageEntry) -> &[u8] {
        let range = entry.key_start..entry.value_start;
        self.bytes.get(range).unwrap_or_default()
    }

    /// None for a tombstone.
    pub fn value(&self, entry: &MessageEntry) -> Option<&[u8]> {
        let range = entry.value_start..entry.value_end;
        (entry.kind != Kind::Tombstone).then(|| self.bytes.get(range).unwrap_or_default())
    }

    pub fn topic(&self, entry: &MessageEntry) -> &str {
        let topic = self.topics.get(entry.topic);
        topic.map_or("", |topic| &topic.name)
    }

    /// How many of the events that were given are wholly done when the first `messages` messages are: a delete
    /// only with its tombstone.
    pub fn position_after(&self, messages: usize) -> usize {
        let next = self.entries.get(messages);
        next.map_or(self.events, |next| next.event)
    }

    /// The transaction that is open when so many of the events that were given are done.
    pub fn transaction_after(&self, events: usize) -> Option<OpenTransaction> {
        self.transactions.after(events, &self.topics)
    }

    /// Messages by the subject of their topic and kind.
    pub fn counts(&self) -> BTreeMap<(String, Kind), u64> {
        let mut by_topic = vec![[0_u64; Kind::ALL.len()]; self.topics.len()];
        for entry in &self.entries {
            let kinds = by_topic.get_mut(entry.topic);
            if let Some(count) = kinds.and_then(|kinds| kinds.get_mut(entry.kind as usize)) {
                *count = count.saturating_add(1);
            }
        }
        let mut counts = BTreeMap::new();
        for (topic, kinds) in self.topics.iter().zip(by_topic) {
            for (kind, count) in Kind::ALL.into_iter().zip(kinds) {
                if count > 0 {
                    *counts.entry((topic.subject.clone(), kind)).or_default() += count;
                }
            }
        }
        counts
    }
}
