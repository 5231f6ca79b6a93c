//! A batch of events: their bytes in one buffer, and the metadata that delivery needs.

use commitlog_core::schema::SchemaChange;
use commitlog_core::segment::Gap;

use crate::buffer_pool::BufferPool;
use crate::event::Kind;
use crate::operation::Op;
use event_encoding::schema_ids::UnregisteredSchema;

/// How many ranges of skipped records one batch lists separately.
const MOST_LOST: usize = 64;
/// Bytes that are enough for most events.
pub(crate) const USUAL_ROOM: usize = 2048;
/// Minimum free space after growth; it fits the L1 cache together with the input.
const ROOM_STEP: usize = 8192;

/// The location of one event in the buffer, and its headers.
#[derive(Debug, Clone)]
pub struct EventEntry {
    /// Index into [`EventBatch::topics`].
    pub topic: u32,
    key_start: usize,
    value_start: usize,
    value_end: usize,
    /// Whether it repeats the key of the previous event without a value (`tombstones.on.delete`).
    pub is_tombstone: bool,
    pub id: [u8; 16],
    pub kind: Kind,
    pub op: Op,
    /// Largest write time, in microseconds.
    pub timestamp_us: i64,
    /// Logical end position of the mutation.
    pub position: u64,
    /// Index among the events of its mutation.
    pub index: u32,
    pub partition_hash: u32,
}

/// A topic, and the table whose events it receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    /// `keyspace.table`.
    pub table: String,
}

/// The record that blocks a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Logical positions of the record.
    pub start: u64,
    pub end: u64,
    /// Empty if the cause is not a specific table.
    pub table_id: String,
    pub column: Option<String>,
    /// The cause, as one sentence.
    pub reason: String,
    /// Schemas without a registry id. If there are any, the table schema is complete.
    pub unregistered: Vec<UnregisteredSchema>,
    /// Whether it waits only for a message in the schema-change topic.
    pub is_unannounced: bool,
}

impl Blocked {
    pub fn missing(&self) -> MissingSchema {
        MissingSchema {
            table_id: self.table_id.clone(),
            column: self.column.clone(),
        }
    }
}

/// A definition that a record needs and that the schema does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSchema {
    /// Empty if the cause is not a specific table.
    pub table_id: String,
    pub column: Option<String>,
}

/// Records of one table that were skipped because the same definition is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    pub missing: MissingSchema,
    /// Logical start of the first record and end of the last record. Other records lie in between
    /// only if there are more than `MOST_LOST` ranges.
    pub start: u64,
    pub end: u64,
    pub records: u64,
    /// The cause for the first record, as one sentence.
    pub reason: String,
}

/// Why a read stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A limit of the call is reached.
    Full,
    /// No further record is readable.
    End,
    /// The next record needs a schema, a schema id or an announcement that is missing.
    Blocked,
    /// The final record changes the schema.
    Schema,
}

/// The origin of a batch's events.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A segment with this id.
    Segment(i64),
    /// A snapshot of a table; positions represent tokens.
    Snapshot,
}

/// Encoded events.
#[derive(Debug)]
pub struct EventBatch {
    pub(crate) origin: Origin,
    /// The start of the `cdc.source` header of all events.
    pub(crate) source_start: String,
    pub segment: String,
    pub start_position: u64,
    pub end_position: u64,
    pub stop: Stop,
    pub blocked: Option<Blocked>,
    pub gaps: Vec<Gap>,
    /// Records skipped because the request abandons the definitions that they need.
    pub lost: Vec<LostRecords>,
    pub schema_changes: Vec<SchemaChange>,
    /// Where the record with these changes starts, if it is acknowledged separately from the events
    /// before it.
    pub change_start: Option<u64>,
    pub mutations: u64,
    /// Skipped partition updates and events, by reason.
    pub skipped: Vec<(&'static str, u64)>,
    pub topics: Vec<Topic>,
    pub entries: Vec<EventEntry>,
    /// The bytes of all events, then free space.
    bytes: Vec<u8>,
    /// The start of the free space.
    end: usize,
    spare: BufferPool,
}

impl Drop for EventBatch {
    fn drop(&mut self) {
        self.spare.leave(std::mem::take(&mut self.bytes));
    }
}

/// The metadata of an event.
pub struct EventFacts {
    pub topic: u32,
    pub kind: Kind,
    pub op: Op,
    pub timestamp_us: i64,
    pub position: u64,
    pub index: u32,
    pub partition_hash: u32,
}

impl EventBatch {
    /// Creates an empty batch with this capacity, reusing a spare buffer if there is one.
    pub(crate) fn new(
        (node_id, origin): (&str, Origin),
        segment: &str,
        start_position: u64,
        (events, size_bytes): (usize, usize),
        spare: &BufferPool,
    ) -> Self {
        let mut bytes = spare.take();
        if bytes.is_empty() {
            bytes.reserve(size_bytes.saturating_add(ROOM_STEP));
        }
        let source_start = match origin {
            Origin::Segment(id) => format!("{node_id}/{id}/"),
            Origin::Snapshot => format!("{node_id}/snapshot/"),
        };
        Self {
            origin,
            source_start,
            segment: segment.to_owned(),
            start_position,
            end_position: start_position,
            stop: Stop::End,
            blocked: None,
            gaps: Vec::new(),
            lost: Vec::new(),
            schema_changes: Vec::new(),
            change_start: None,
            mutations: 0,
            skipped: Vec::new(),
            topics: Vec::new(),
            entries: Vec::with_capacity(events),
            bytes,
            end: 0,
            spare: spare.clone(),
        }
    }

    /// Returns the free space, for the key and then the value of the next event.
    #[inline]
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Ensures that at least `bytes` bytes are free.
    #[inline]
    pub(crate) fn make_room(&mut self, bytes: usize) {
        if self.room().len() < bytes {
            self.grow(bytes.max(ROOM_STEP));
        }
    }

    #[inline(never)]
    fn grow(&mut self, bytes: usize) {
        self.bytes.resize(self.end.saturating_add(bytes), 0);
    }

    /// Adds the event written to [`Self::room`], with a key and a value of these lengths.
    /// [`Self::set_id`] sets its id.
    #[inline]
    pub(crate) fn push(&mut self, key: usize, value: usize, facts: &EventFacts) {
        let key_start = self.end;
        let value_start = key_start + key;
        let value_end = value_start + value;
        self.end = value_end;
        self.entries.push(EventEntry {
            topic: facts.topic,
            key_start,
            value_start,
            value_end,
            is_tombstone: false,
            id: [0; 16],
            kind: facts.kind,
            op: facts.op,
            timestamp_us: facts.timestamp_us,
            position: facts.position,
            index: facts.index,
            partition_hash: facts.partition_hash,
        });
    }

    /// Adds a tombstone: the key and id of the previous event without a value.
    pub(crate) fn push_tombstone(&mut self) {
        if let Some(last) = self.entries.last() {
            let tombstone = EventEntry {
                is_tombstone: true,
                ..last.clone()
            };
            self.entries.push(tombstone);
        }
    }

    pub(crate) fn set_id(&mut self, event: usize, id: [u8; 16]) {
        let entries = self.entries.get_mut(event..).unwrap_or_default();
        if let [entry, later @ ..] = entries {
            entry.id = id;
            if let [tombstone, ..] = later
                && tombstone.is_tombstone
            {
                tombstone.id = id;
            }
        }
    }

    /// Keeps only the first `events` events.
    pub(crate) fn truncate(&mut self, events: usize) {
        self.entries.truncate(events);
        self.end = self.entries.last().map_or(0, |entry| entry.value_end);
    }

    pub(crate) fn add_topic(&mut self, topic: Topic) -> u32 {
        self.topics.push(topic);
        (self.topics.len() - 1) as u32
    }

    /// Counts events by table and op, without tombstones.
    pub fn counts(&self) -> Vec<(&str, Op, u64)> {
        let mut counts = vec![[0_u64; Op::ALL.len()]; self.topics.len()];
        for entry in self.entries.iter().filter(|entry| !entry.is_tombstone) {
            if let Some(count) = counts
                .get_mut(entry.topic as usize)
                .and_then(|ops| ops.get_mut(entry.op.index()))
            {
                *count += 1;
            }
        }
        let by_topic = self.topics.iter().zip(&counts);
        by_topic
            .flat_map(|(topic, ops)| {
                let by_op = Op::ALL.into_iter().zip(ops);
                by_op.map(|(op, count)| (topic.table.as_str(), op, *count))
            })
            .filter(|(_, _, count)| *count > 0)
            .collect()
    }

    pub(crate) fn skip(&mut self, reason: &'static str, updates: u64) {
        match self.skipped.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += updates,
            None => self.skipped.push((reason, updates)),
        }
    }

    /// Adds a skipped record to `lost`.
    pub(crate) fn lose(&mut self, blocked: Blocked) {
        let missing = blocked.missing();
        let has_room = self.lost.len() < MOST_LOST;
        let last = self.lost.iter_mut().rev();
        match last.into_iter().find(|lost| lost.missing == missing) {
            Some(lost) if lost.end == blocked.start || !has_room => {
                lost.end = blocked.end;
                lost.records += 1;
            }
            _ => self.lost.push(LostRecords {
                missing,
                start: blocked.start,
                end: blocked.end,
                records: 1,
                reason: blocked.reason,
            }),
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all keys and values.
    pub fn size_bytes(&self) -> usize {
        self.end
    }

    pub fn key(&self, entry: &EventEntry) -> &[u8] {
        self.bytes
            .get(entry.key_start..entry.value_start)
            .unwrap_or_default()
    }

    /// Empty for a tombstone.
    pub fn value(&self, entry: &EventEntry) -> &[u8] {
        if entry.is_tombstone {
            return &[];
        }
        self.bytes
            .get(entry.value_start..entry.value_end)
            .unwrap_or_default()
    }

    pub fn topic(&self, entry: &EventEntry) -> &str {
        self.topics
            .get(entry.topic as usize)
            .map_or("", |topic| &topic.name)
    }

    /// Returns the write time of the final event, or `None` for a snapshot, because the age of its
    /// rows does not measure the delivery lag.
    pub fn last_write_us(&self) -> Option<i64> {
        match self.origin {
            Origin::Segment(_) => self.entries.last().map(|entry| entry.timestamp_us),
            Origin::Snapshot => None,
        }
    }

    /// Returns the position reached once the first `events` events are delivered: the end of the
    /// last mutation that they complete.
    pub fn position_after(&self, events: usize) -> u64 {
        let Some(next) = self.entries.get(events) else {
            return self.change_start.unwrap_or(self.end_position);
        };
        self.entries
            .get(..events)
            .unwrap_or_default()
            .iter()
            .rev()
            .map(|entry| entry.position)
            .find(|position| *position != next.position)
            .unwrap_or(self.start_position)
    }
}
