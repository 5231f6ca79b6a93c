//! Encoded messages in one buffer, with the data that their delivery needs.

use std::collections::BTreeMap;

use event_encoding::messages::{Message, Messages};
use event_encoding::schema_ids::UnregisteredSchema;

use crate::bson::Timestamp;
use crate::change::Operation;
use crate::error::BsonError;
use crate::extras::Extras;
use crate::topic::Topic;
use crate::transaction::{OpenTransaction, Timeline};

/// The reason for skipping events of collections that are not captured.
pub const NOT_CAPTURED: &str = "not captured";

/// The kind of a message (`cdc.kind`). The numbers up to that of the tombstone are part of event
/// ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Insert = 0,
    Update = 1,
    Replace = 2,
    Delete = 3,
    Read = 4,
    /// A null value, so that a compacted topic may drop the key's older messages.
    Tombstone = 5,
    /// The start or end of a transaction.
    Transaction,
    /// DDL of a collection or a database.
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
    /// Offsets in the buffer; the value follows the key.
    pub key_start: usize,
    pub value_start: usize,
    pub value_end: usize,
    pub id: [u8; 16],
    pub kind: Kind,
    /// Whether the value is not null.
    pub has_value: bool,
    /// Time of the change in microseconds.
    pub timestamp_us: i64,
    pub cluster_time: Timestamp,
    /// Kafka's murmur2 hash of the key, in 31 bits.
    pub partition_hash: u32,
    /// Index of the message's event.
    pub event: usize,
}

/// An event that could not be encoded.
#[derive(Debug, Clone)]
pub struct EncodingFailure {
    pub event: usize,
    pub error: BsonError,
}

#[derive(Debug, Clone, Default)]
pub struct MessageBatch {
    pub entries: Vec<MessageEntry>,
    pub topics: Vec<Topic>,
    /// Number of events in the input.
    pub events: usize,
    /// Number of events that produce no message, by operation: DDL, skipped and dropped operations.
    /// Events of collections that are not captured count as [`NOT_CAPTURED`].
    pub skipped: BTreeMap<String, u64>,
    pub failures: Vec<EncodingFailure>,
    /// Schemas without an id. If there are any, the messages are invalid, and the events must be
    /// encoded again.
    pub unregistered: Vec<UnregisteredSchema>,
    /// The first part of the source header of all messages.
    pub(crate) source_start: String,
    /// The state of transactions after each event.
    pub(crate) transactions: Timeline,
    pub(crate) bytes: Vec<u8>,
    /// Sorted by message.
    pub(crate) extras: Vec<Extras>,
}

impl MessageBatch {
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

    /// Returns `None` for a tombstone, and for a transformed message without a value.
    pub fn value(&self, entry: &MessageEntry) -> Option<&[u8]> {
        let range = entry.value_start..entry.value_end;
        let has_value = entry.kind != Kind::Tombstone && entry.has_value;
        has_value.then(|| self.bytes.get(range).unwrap_or_default())
    }

    /// Returns the extras of a message.
    pub fn extras(&self, message: usize) -> Option<&Extras> {
        if self.extras.is_empty() {
            return None;
        }
        let found = self.extras.binary_search_by_key(&message, |e| e.message);
        self.extras.get(found.ok()?)
    }

    pub fn topic(&self, entry: &MessageEntry) -> &str {
        let topic = self.topics.get(entry.topic);
        topic.map_or("", |topic| &topic.name)
    }

    /// Returns the number of events whose messages are all among the first `messages`, including
    /// the tombstones of deletes.
    pub fn position_after(&self, messages: usize) -> usize {
        let next = self.entries.get(messages);
        next.map_or(self.events, |next| next.event)
    }

    /// Returns the transaction that is open after the first `events` events.
    pub fn transaction_after(&self, events: usize) -> Option<OpenTransaction> {
        self.transactions.state_after(events, &self.topics)
    }

    /// Counts messages by the subject of their topic and by kind.
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

impl Messages for MessageBatch {
    type Entry = MessageEntry;

    fn entries(&self) -> &[MessageEntry] {
        &self.entries
    }

    fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|topic| topic.name.as_str())
    }

    fn kinds() -> impl Iterator<Item = &'static str> {
        Kind::ALL.into_iter().map(Kind::name)
    }

    fn message(&self, entry: &MessageEntry) -> Message<'_> {
        Message {
            topic: entry.topic,
            key: self.key(entry),
            value: self.value(entry),
            id: entry.id,
            timestamp_us: entry.timestamp_us,
            kind: entry.kind as usize,
            partition_hash: entry.partition_hash,
        }
    }

    fn more_headers(&self, index: usize) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.extras(index).into_iter();
        let headers = headers.flat_map(|extras| &extras.headers);
        headers.map(|header| (&*header.name, &*header.value))
    }

    fn timestamp_ms(&self, index: usize) -> Option<i64> {
        self.extras(index)?.timestamp_ms
    }

    fn chosen_partition(&self, index: usize) -> Option<i32> {
        self.extras(index)?.partition
    }

    /// Writes `node id/replica set/seconds.increment/index`.
    fn write_source(&self, out: &mut Vec<u8>, entry: &MessageEntry) {
        let mut digits = itoa::Buffer::new();
        let time = entry.cluster_time;
        let is_tombstone = entry.kind == Kind::Tombstone;
        out.extend_from_slice(self.source_start.as_bytes());
        out.extend_from_slice(digits.format(time.seconds).as_bytes());
        out.push(b'.');
        out.extend_from_slice(digits.format(time.increment).as_bytes());
        out.extend_from_slice(if is_tombstone { b"/1" } else { b"/0" });
    }
}
