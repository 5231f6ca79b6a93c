//! Encodes any bytes as events of MongoDB.

use std::sync::Arc;

use mongo_encoder::batch::MessageBatch;
use mongo_encoder::bson::Document;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::fields::FieldRules;
use mongo_encoder::format::{Encoding, EventFormat, Layout};
use mongo_encoder::fragments::{join_fragments, split_of};
use mongo_encoder::reply::parse_reply;
use mongo_encoder::stream_place::{cluster_time, token_of};
use mongo_encoder::transform::{ArrayEncoding, DeleteHandling, ExtractDocument, Transform};

use crate::mongo_checks::{
    capture_all, check, check_copied, check_halves, check_json, check_places, encode, event_format,
};

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

/// The last event takes the rest, whatever its length.
fn events_of(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut events = Vec::new();
    while let Some(length) = rest.first_chunk::<4>() {
        let length = usize::try_from(i32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (event, tail) = rest.split_at_checked(length.max(4)).unwrap_or((rest, &[]));
        events.push(event);
        rest = tail;
    }
    events
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
        format.schema_ids.set(&schema, id);
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
        rejected.map(|failure| failure.event).collect::<Vec<_>>()
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
        ..format.clone()
    };
    let transforms = vec![Transform::ExtractDocument(documents)];
    let encoder = Encoder::new(format).with_transforms(transforms);
    let Ok(batch) = encoder.encode(events.iter().copied(), None, 0, &mut capture_all);
    check(&batch, events, Layout::Native);
}
