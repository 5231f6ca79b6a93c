//! Encodes any bytes as events of MongoDB.

use std::convert::Infallible;
use std::sync::Arc;

use mongo_encoder::batch::{MessageBatch, MessageEntry};
use mongo_encoder::bson::{Document, Timestamp};
use mongo_encoder::change::{SnapshotMarker, SnapshotSource};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::fields::FieldRules;
use mongo_encoder::format::{DocumentJson, Encoding, EventFormat, Layout};
use mongo_encoder::fragments::{join_fragments, split_of};
use mongo_encoder::reply::parse_reply;
use mongo_encoder::stream_place::{cluster_time, token_of};
use mongo_encoder::transaction::OpenTransaction;
use mongo_encoder::transform::{ArrayEncoding, DeleteHandling, ExtractDocument, Transform};
use serde_json::Value;

use crate::mongo_reply::check_places;

const AT_NS: i64 = 1_700_000_000_000_000_000;
const EXCLUDED: [&str; 3] = ["*.*.n", "*.*.a.b", "shop.*.x.y.z"];
const RENAMED: [&str; 3] = ["*.*.a:z", "*.*.x.y:w", "*.c*.name:n"];

/// The input is a byte for the layout, a byte for the flavour of JSON, and events with their lengths.
///
/// Messages are JSON in the order of the events, and equal in other encodings. Field rules change
/// values only. Two batches with a shared transaction equal one batch. Joined fragments are an event,
/// and the events of a reply lie inside it.
pub fn mongo(input: &[u8]) {
    let Some(([layout, json], rest)) = input.split_first_chunk::<2>() else {
        return;
    };
    let events = events_of(rest);
    let plain = event_format(*layout, *json, FieldRules::default());
    let rules = FieldRules::parse(EXCLUDED, RENAMED).unwrap_or_default();
    let ruled = event_format(*layout, *json, rules);
    let whole = encode(&plain, &events, None);
    check(&whole, &events, plain.layout);
    for encoding in [Encoding::JsonWithSchema, Encoding::Avro] {
        check_encoding(&plain, &events, &whole, encoding);
    }
    let with_rules = encode(&ruled, &events, None);
    check(&with_rules, &events, ruled.layout);
    if with_rules.failures.len() == whole.failures.len() {
        let ids = |batch: &MessageBatch| {
            let keys = batch.entries.iter().map(|entry| batch.key(entry).to_vec());
            let ids = batch.entries.iter().map(|entry| entry.id);
            ids.zip(keys).collect::<Vec<_>>()
        };
        assert!(ids(&whole) == ids(&with_rules), "rules change keys or ids");
    }
    check_halves(&ruled, &events, &with_rules);
    check_copied(&ruled, &events);
    check_transformed(&ruled, *json, &events);
    if let Ok(joined) = join_fragments(&events) {
        assert!(
            Document::parse(&joined).is_ok(),
            "what is joined is no BSON"
        );
        assert!(split_of(&joined).is_none(), "what is joined is a part");
    }
    for event in events {
        let _ = cluster_time(event);
        let token = token_of(event);
        assert!(
            token.is_none_or(|token| Document::parse(token.bytes()).is_ok()),
            "a token is no document"
        );
        if let Ok(reply) = parse_reply(event) {
            check_places(event, &reply);
        }
    }
}

pub fn event_format(layout: u8, json: u8, fields: FieldRules) -> EventFormat {
    let of = |number: u8, count: usize| usize::from(number) % count;
    let layout = Layout::ALL.get(of(layout, Layout::ALL.len())).copied();
    let document_json = DocumentJson::ALL.get(of(json, DocumentJson::ALL.len()));
    EventFormat {
        topic_prefix: "L".to_owned(),
        replica_set: "rs0".to_owned(),
        layout: layout.unwrap_or_default(),
        document_json: document_json.copied().unwrap_or_default(),
        tombstones: true,
        transaction_topic: Some("L.transaction".to_owned()),
        schema_topic: (json & 0x10 != 0).then(|| "L.schema".to_owned()),
        fields,
        ..EventFormat::default()
    }
}

/// The last event takes the rest, whatever its length.
fn events_of(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut events = Vec::new();
    while let Some(length) = rest.first_chunk::<4>() {
        let length = usize::try_from(i32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (event, behind) = rest.split_at_checked(length.max(4)).unwrap_or((rest, &[]));
        events.push(event);
        rest = behind;
    }
    events
}

pub fn encode(
    format: &EventFormat,
    events: &[&[u8]],
    transaction: Option<OpenTransaction>,
) -> MessageBatch {
    let mut captures = |_: &[u8], collection: &[u8]| Ok::<_, Infallible>(collection != b"hidden");
    let encoder = Encoder::new(format.clone());
    let Ok(batch) =
        encoder.encode_routed(events.iter().copied(), transaction, AT_NS, &mut captures);
    batch
}

pub fn check(batch: &MessageBatch, events: &[&[u8]], layout: Layout) {
    assert!(batch.events == events.len(), "events that are not counted");
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
        "events that are never done"
    );
    for rejected in &batch.failures {
        let event = events.get(rejected.event);
        assert!(
            event.is_some_and(|event| rejected.error.offset <= event.len()),
            "{}: a place outside of the event",
            rejected.error
        );
    }
}

/// Checks nested documents too. JSON readers accept fewer levels than BSON does.
fn check_json(text: &[u8], layout: Layout) {
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

/// The encoding of keys and values changes nothing else.
fn check_encoding(format: &EventFormat, events: &[&[u8]], json: &MessageBatch, encoding: Encoding) {
    let format = EventFormat {
        key: encoding,
        value: encoding,
        schema_ids: Arc::default(),
        ..format.clone()
    };
    for (id, schema) in (0..).zip(encode(&format, events, None).unregistered) {
        format.schema_ids.set(schema, id);
    }
    let batch = encode(&format, events, None);
    assert!(batch.unregistered.is_empty(), "a schema without an id");
    let ids = |batch: &MessageBatch| {
        batch
            .entries
            .iter()
            .map(|entry| entry.id)
            .collect::<Vec<_>>()
    };
    assert!(ids(&batch) == ids(json), "other messages than in JSON");
    let rejected = |batch: &MessageBatch| {
        let rejected = batch.failures.iter();
        rejected.map(|each| each.event).collect::<Vec<_>>()
    };
    assert!(rejected(&batch) == rejected(json), "other events fail");
    for entry in &batch.entries {
        let key = batch.key(entry).first();
        assert!(key == Some(&0) || encoding != Encoding::Avro, "no Avro");
        if encoding == Encoding::JsonWithSchema {
            check_json(batch.key(entry), Layout::Native);
            check_json(batch.value(entry).unwrap_or(b"null"), Layout::Native);
        }
    }
}

/// Transformed messages are JSON, of documents without the envelope.
fn check_transformed(format: &EventFormat, options: u8, events: &[&[u8]]) {
    let is_set = |bit: u8| options & 1 << bit != 0;
    let documents = ExtractDocument {
        arrays: if is_set(5) {
            ArrayEncoding::Document
        } else {
            ArrayEncoding::Array
        },
        delimiter: is_set(6).then(|| "_".to_owned()),
        deletes: DeleteHandling::RewriteWithTombstone,
        ..ExtractDocument::default()
    };
    let format = EventFormat {
        layout: Layout::Debezium3,
        transforms: vec![Transform::ExtractDocument(documents)],
        ..format.clone()
    };
    check(&encode(&format, events, None), events, Layout::Native);
}

pub fn check_halves(format: &EventFormat, events: &[&[u8]], whole: &MessageBatch) {
    let (first, second) = events.split_at(events.len() / 2);
    let first_batch = encode(format, first, None);
    let state = first_batch.transaction_after(first.len());
    assert!(
        state == whole.transaction_after(first.len()),
        "another transaction is open in the middle"
    );
    let stored = state.inspect(|state| {
        let read = OpenTransaction::from_json(&state.to_json());
        let is_same = read.is_ok_and(|read| read == *state);
        assert!(is_same, "a state changes by being stored");
    });
    let second_batch = encode(format, second, stored);
    let of = |batch: &MessageBatch| -> Vec<_> {
        let message = |entry: &MessageEntry| {
            let value = batch.value(entry).map(<[u8]>::to_vec);
            (entry.id, batch.key(entry).to_vec(), value)
        };
        batch.entries.iter().map(message).collect()
    };
    let halves = [of(&first_batch), of(&second_batch)].concat();
    assert!(halves == of(whole), "two halves are not the whole");
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
    let batch = encoder.encode_snapshot(documents.iter().copied(), &copy, AT_NS);
    check(&batch, documents, format.layout);
}
