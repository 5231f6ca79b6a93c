//! The messages of a batch, and their text for people.

use event_encoding::messages::{
    ID_HEADER, KIND_HEADER, Message, Messages, SOURCE_HEADER, TIME_HEADER,
};

use crate::batch::{EventBatch, EventEntry, Origin};
use crate::event::Kind;
use crate::token::token_of;
use crate::value::json::{write_base64, write_string};

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

    /// `host id/segment id/position/index`, of a snapshot `host id/snapshot/token/index`.
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

/// One JSON line for each message from `first` to `stop`.
pub fn ndjson<M: Messages>(batch: &M, first: usize, stop: usize) -> Vec<u8> {
    let topics: Vec<_> = batch.topics().collect();
    let kinds: Vec<_> = M::kinds().collect();
    let mut out = Vec::new();
    let mut source = Vec::new();
    for (index, entry) in batch.range(first, stop) {
        let message = batch.message(entry);
        let topic = topics.get(message.topic).copied().unwrap_or_default();
        let kind = kinds.get(message.kind).copied().unwrap_or_default();
        out.extend_from_slice(b"{\"topic\":");
        write_string(&mut out, topic.as_bytes());
        out.extend_from_slice(b",\"key\":");
        write_shown(&mut out, message.key);
        out.extend_from_slice(b",\"value\":");
        write_shown(&mut out, message.value.unwrap_or(b"null"));
        let id = u128::from_be_bytes(message.id);
        let headers = format!(",\"headers\":{{\"{ID_HEADER}\":\"{id:032x}\",\"{SOURCE_HEADER}\":");
        out.extend_from_slice(headers.as_bytes());
        source.clear();
        batch.write_source(&mut source, entry);
        write_string(&mut out, &source);
        let time = message.timestamp_us;
        let headers = format!(",\"{TIME_HEADER}\":\"{time}\",\"{KIND_HEADER}\":\"{kind}\"");
        out.extend_from_slice(headers.as_bytes());
        for (name, value) in batch.more_headers(index) {
            out.push(b',');
            write_string(&mut out, name.as_bytes());
            out.push(b':');
            write_string(&mut out, value);
        }
        out.extend_from_slice(b"}}\n");
    }
    out
}

/// JSON as it is, Avro as base64 and other text as a string: no JSON begins with a zero, nor as the
/// text of a struct does.
fn write_shown(out: &mut Vec<u8>, part: &[u8]) {
    match part.first() {
        Some(0) => write_base64(out, part),
        Some(b'S') => write_string(out, part),
        _ => out.extend_from_slice(part),
    }
}
