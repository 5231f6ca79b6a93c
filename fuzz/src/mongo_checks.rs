//! Encodes events and checks their messages, for all MongoDB targets.

use std::convert::Infallible;

use mongo_encoder::batch::{MessageBatch, MessageEntry};
use mongo_encoder::bson::{Document, Timestamp};
use mongo_encoder::change::{SnapshotMarker, SnapshotSource};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::fields::FieldRules;
use mongo_encoder::format::{DocumentJson, EventFormat, Layout};
use mongo_encoder::reply::Reply;
use mongo_encoder::transaction::OpenTransaction;
use serde_json::Value;

const AT_NS: i64 = 1_700_000_000_000_000_000;

#[allow(clippy::unnecessary_wraps, reason = "`Routing` requires it")]
pub fn capture_all(_: &[u8], _: &[u8]) -> Result<bool, Infallible> {
    Ok(true)
}

pub fn event_format(layout: u8, json: u8, fields: FieldRules) -> EventFormat {
    let index = |number: u8, count: usize| usize::from(number) % count;
    let layout = Layout::NAMES.get(index(layout, Layout::NAMES.len()));
    let document_json = DocumentJson::NAMES.get(index(json, DocumentJson::NAMES.len()));
    EventFormat {
        topic_prefix: "L".to_owned(),
        replica_set: "rs0".to_owned(),
        layout: layout.map_or_else(Layout::default, |known| known.1),
        document_json: document_json.map_or_else(DocumentJson::default, |known| known.1),
        tombstones: true,
        transaction_topic: Some("L.transaction".to_owned()),
        schema_topic: (json & 0x10 != 0).then(|| "L.schema".to_owned()),
        fields,
        ..EventFormat::default()
    }
}

pub fn encode(
    format: &EventFormat,
    events: &[&[u8]],
    transaction: Option<OpenTransaction>,
) -> MessageBatch {
    let mut captures = |_: &[u8], collection: &[u8]| Ok::<_, Infallible>(collection != b"hidden");
    let encoder = Encoder::new(format.clone());
    let Ok(batch) = encoder.encode(events.iter().copied(), transaction, AT_NS, &mut captures);
    batch
}

pub fn check(batch: &MessageBatch, events: &[&[u8]], layout: Layout) {
    assert!(batch.events == events.len(), "some events are not counted");
    let mut position = 0;
    for (number, entry) in batch.entries.iter().enumerate() {
        let next = batch.position_after(number);
        assert!(
            position <= next && next == entry.event,
            "events out of order"
        );
        position = next;
        check_json(batch.key(entry), Layout::Debezium3);
        if let Some(value) = batch.value(entry) {
            check_json(value, layout);
        }
    }
    assert!(
        batch.position_after(batch.len()) == events.len(),
        "some events are never done"
    );
    for rejected in &batch.failures {
        let event = events.get(rejected.event);
        assert!(
            event.is_some_and(|event| rejected.error.offset <= event.len()),
            "{}: the offset is outside the event",
            rejected.error
        );
    }
}

/// Checks nested documents too. `serde_json` accepts fewer nesting levels than the encoder.
pub fn check_json(text: &[u8], layout: Layout) {
    match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(members)) if layout != Layout::Native => {
            for name in ["before", "after", "patch", "filter"] {
                if let Some(Value::String(document)) = members.get(name) {
                    check_json(document.as_bytes(), Layout::Native);
                }
            }
        }
        Ok(_) => {}
        Err(error) => assert!(
            error.to_string().starts_with("recursion limit exceeded"),
            "{error}: {}",
            String::from_utf8_lossy(text)
        ),
    }
}

pub fn check_halves(format: &EventFormat, events: &[&[u8]], whole: &MessageBatch) {
    let (first, second) = events.split_at(events.len() / 2);
    let first_batch = encode(format, first, None);
    let state = first_batch.transaction_after(first.len());
    assert!(
        state == whole.transaction_after(first.len()),
        "a different transaction is open in the middle"
    );
    let stored = state.inspect(|state| {
        let read = OpenTransaction::from_json(&state.to_json());
        let is_same = read.is_ok_and(|read| read == *state);
        assert!(is_same, "storing changes a state");
    });
    let second_batch = encode(format, second, stored);
    let shown = |batch: &MessageBatch| -> Vec<_> {
        let message = |entry: &MessageEntry| {
            let value = batch.value(entry).map(<[u8]>::to_vec);
            (entry.id, batch.key(entry).to_vec(), value)
        };
        batch.entries.iter().map(message).collect()
    };
    let halves = [shown(&first_batch), shown(&second_batch)].concat();
    assert!(halves == shown(whole), "two halves differ from the whole");
}

pub fn check_copied(format: &EventFormat, documents: &[&[u8]]) {
    let time = Timestamp {
        seconds: 5,
        increment: 6,
    };
    let copy = SnapshotSource {
        database: b"shop",
        collection: b"cust",
        cluster_time: time,
        read_at_ms: 0,
        marker: SnapshotMarker::True,
    };
    let encoder = Encoder::new(format.clone());
    let events = documents.iter().copied();
    let Ok(batch) = encoder.encode_snapshot(events, &copy, AT_NS, &mut capture_all);
    check(&batch, documents, format.layout);
}

/// Checks that events and token are documents inside the reply, and that events do not overlap.
pub fn check_places(bytes: &[u8], reply: &Reply) {
    let mut last_end = 0;
    for place in &reply.events {
        assert!(last_end < place.start, "events overlap");
        last_end = place.end;
        let event = bytes.get(place.clone()).unwrap_or_default();
        assert!(Document::parse(event).is_ok(), "an event is not a document");
    }
    let token = reply.token.clone().and_then(|token| bytes.get(token));
    assert!(
        token.is_none_or(|token| Document::parse(token).is_ok()),
        "a token is not a document"
    );
}
