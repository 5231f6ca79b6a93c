//! The messages of a batch.

use event_encoding::messages::{Message, Messages};

use crate::batch::{EventBatch, EventEntry, Origin};
use crate::event::Kind;
use crate::token::token_of;

impl Messages for EventBatch {
    type Entry = EventEntry;

    fn entries(&self) -> &[EventEntry] {
        &self.entries
    }

    fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.iter().map(|topic| topic.name.as_str())
    }

    fn kinds() -> impl Iterator<Item = &'static str> {
        Kind::ALL.into_iter().map(Kind::name)
    }

    fn message(&self, entry: &EventEntry) -> Message<'_> {
        Message {
            topic: entry.topic as usize,
            key: self.key(entry),
            value: (!entry.is_tombstone).then(|| self.value(entry)),
            id: entry.id,
            timestamp_us: entry.timestamp_us,
            kind: entry.kind as usize,
            partition_hash: entry.partition_hash,
        }
    }

    /// Writes `host id/segment id/position/index`; snapshots write `host id/snapshot/token/index`.
    fn write_source(&self, out: &mut Vec<u8>, entry: &EventEntry) {
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(self.source_start.as_bytes());
        let position = match self.origin {
            Origin::Segment(_) => digits.format(entry.position),
            Origin::Snapshot => digits.format(token_of(entry.position)),
        };
        out.extend_from_slice(position.as_bytes());
        out.push(b'/');
        out.extend_from_slice(digits.format(entry.index).as_bytes());
    }
}
