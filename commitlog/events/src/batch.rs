//! A batch of events: their bytes in one buffer, and what delivery needs to know of each.

use commitlog_core::schema::SchemaChange;
use commitlog_core::segment::Gap;

use crate::buffer_pool::BufferPool;
use crate::event::Kind;
use crate::operation::Op;
use event_encoding::schema_ids::UnregisteredSchema;

/// Ranges of skipped records that one batch lists separately.
const MOST_LOST: usize = 64;
/// Room that most events find enough, in bytes.
pub(crate) const USUAL_ROOM: usize = 2048;
/// Room that is made at once; it fits the nearest cache together with what is read.
const ROOM_STEP: usize = 8192;

/// One event's place in the buffer and its headers.
#[derive(Debug, Clone)]
pub struct EventEntry {
    /// Index into [`EventBatch::topics`].
    pub topic: u32,
    key_start: usize,
    value_start: usize,
    value_end: usize,
    /// It has the key of the event before it and no value (`tombstones.on.delete`).
    pub is_tombstone: bool,
    pub id: [u8; 16],
    pub kind: Kind,
    pub op: Op,
    /// Largest write time, in microseconds.
    pub timestamp_us: i64,
    /// Logical end position of the mutation.
    pub position: u64,
    /// Place among the events of its mutation.
    pub index: u32,
    pub partition_hash: u32,
}

/// A topic and the table whose events go there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    /// `keyspace.table`.
    pub table: String,
}

/// The record that stopped a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Logical positions of the record.
    pub start: u64,
    pub end: u64,
    /// Empty when no table is to blame.
    pub table_id: String,
    pub column: Option<String>,
    /// One sentence.
    pub reason: String,
    /// Schemas that it waits for; the schema of tables lacks nothing then.
    pub unregistered: Vec<UnregisteredSchema>,
    /// It waits for a message of the schema-change topic; nothing else is missing.
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

/// What a record needs and the schema lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSchema {
    /// Empty when no table is to blame.
    pub table_id: String,
    pub column: Option<String>,
}

/// Records of one table that are passed over because they lack the same definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    pub missing: MissingSchema,
    /// Logical start of the first record and end of the last one; other records lie between only
    /// when there are too many ranges.
    pub start: u64,
    pub end: u64,
    pub records: u64,
    /// One sentence about the first one.
    pub reason: String,
}

/// Why a read stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The budget of the call is used up.
    Full,
    /// Nothing more is readable.
    End,
    /// The next record needs another schema.
    Blocked,
    /// The last record changes the schema.
    Schema,
}

/// What the events of a batch were read from.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// A segment with this id.
    Segment(i64),
    /// The table itself: positions are those of tokens.
    Snapshot,
}

/// Events as bytes.
#[derive(Debug)]
pub struct EventBatch {
    pub(crate) origin: Origin,
    /// The start of the source of all events.
    pub(crate) source_start: String,
    pub segment: String,
    pub start_position: u64,
    pub end_position: u64,
    pub stop: Stop,
    pub blocked: Option<Blocked>,
    pub gaps: Vec<Gap>,
    /// Records skipped because the request does not wait for what they need.
    pub lost: Vec<LostRecords>,
    pub schema_changes: Vec<SchemaChange>,
    /// Where the record of these changes starts, if its acknowledgement is not that of the events
    /// before it.
    pub change_start: Option<u64>,
    pub mutations: u64,
    /// Partition updates that gave no events, by reason.
    pub skipped: Vec<(&'static str, u64)>,
    pub topics: Vec<Topic>,
    pub entries: Vec<EventEntry>,
    /// The bytes of all events, and room for more.
    bytes: Vec<u8>,
    /// Where the room begins.
    end: usize,
    spare: BufferPool,
}

impl Drop for EventBatch {
    fn drop(&mut self) {
        self.spare.leave(std::mem::take(&mut self.bytes));
    }
}

/// Facts of an event besides its bytes.
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
    /// An empty batch with room for some events and their bytes, spare room if there is any.
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

    /// Where the bytes of the next event go: the key first, then the value.
    #[inline]
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Makes room for so many bytes.
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

    /// Makes an event of what was written to [`Self::room`]: a key and a value of these lengths.
    /// Its id comes by [`Self::set_id`].
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

    /// Adds a tombstone after the last event: its key, its id and no value.
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

    /// Takes back the events from the `events`th on.
    pub(crate) fn truncate(&mut self, events: usize) {
        self.entries.truncate(events);
        self.end = self.entries.last().map_or(0, |entry| entry.value_end);
    }

    pub(crate) fn add_topic(&mut self, topic: Topic) -> u32 {
        self.topics.push(topic);
        (self.topics.len() - 1) as u32
    }

    /// Events by table and op, without tombstones.
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

    /// Adds a record that is passed over to `lost`.
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

    /// The write time of the last event; none for a snapshot, whose rows' age is no measure of the
    /// delivery lag.
    pub fn last_write_us(&self) -> Option<i64> {
        match self.origin {
            Origin::Segment(_) => self.entries.last().map(|entry| entry.timestamp_us),
            Origin::Snapshot => None,
        }
    }

    /// The position that is reached when the first `events` events are done: the end of the last
    /// mutation wholly among them.
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
