//! Messages of an outbox collection: topics, keys, values, headers, and events without messages.

use crate::written::{
    array, changed, changes, cust, double, element, encode_all, event, insert, int32, int64,
    nested, string, value,
};
use mongo_encoder::batch::{Kind, MessageBatch};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::EventFormat;
use mongo_encoder::transform::{
    AdditionalField, EventRouter, OutboxConverter, Placement, Transform,
};
use proptest::prelude::*;
use serde_json::json;

fn router() -> EventRouter {
    EventRouter {
        id: "_id".to_owned(),
        key: "aggregateid".to_owned(),
        payload: "payload".to_owned(),
        timestamp: None,
        route_by: "aggregatetype".to_owned(),
        expands_payload: false,
        tombstones: false,
        rejects_updates: false,
        additional: Vec::new(),
        ignores_missing: false,
        key_converter: OutboxConverter::Encoding,
        value_converter: OutboxConverter::Encoding,
    }
}

fn outbox_event(payload: Vec<u8>) -> Vec<u8> {
    insert(&[
        int64("_id", 7),
        string("aggregatetype", "order"),
        string("aggregateid", "o-1"),
        payload,
    ])
}

fn route(router: EventRouter, events: &[Vec<u8>]) -> MessageBatch {
    let format = EventFormat {
        topic_prefix: "L".to_owned(),
        ..EventFormat::default()
    };
    let encoder = Encoder::new(format).with_transforms(vec![Transform::EventRouter(router)]);
    encode_all(&encoder, events.iter().map(Vec::as_slice))
}

#[test]
fn outbox_yields_messages_of_inserts() {
    let nested_payload = nested("payload", &[int32("n", 1)]);
    let update = event("update", &[nested("fullDocument", &cust("x"))]);
    let events = [
        outbox_event(nested_payload),
        update,
        event("delete", &[]),
        outbox_event(string("payload", " ")),
    ];
    let batch = route(router(), &events);
    let shown = |index: usize| {
        let entry = &batch.entries[index];
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            batch.topic(entry),
            text(batch.key(entry)),
            batch.value(entry).map(text),
        )
    };
    let json = "\"{\\n  \\\"n\\\": {\\n    \\\"$numberInt\\\": \\\"1\\\"\\n  }\\n}\"".to_owned();
    let key = "\"o-1\"".to_owned();
    assert_eq!(shown(0), ("outbox.event.order", key.clone(), Some(json)));
    assert_eq!(
        shown(1),
        ("outbox.event.order", key, Some("\" \"".to_owned()))
    );
    assert_eq!(batch.len(), 2);
    assert_eq!(batch.position_after(1), 3);
    assert_eq!(batch.skipped.values().sum::<u64>(), 2);
    assert_eq!(batch.extras(0).unwrap().headers[0].value[..], b"7"[..]);
    let counts = batch.counts();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[&("shop.cust".to_owned(), Kind::Insert)], 2);
}

#[test]
fn outbox_options_shape_messages() {
    let options = EventRouter {
        expands_payload: true,
        tombstones: true,
        rejects_updates: true,
        additional: [
            ("aggregateid", Placement::Envelope, "of"),
            ("aggregatetype", Placement::Header, "type"),
            ("absent", Placement::Header, "absent"),
        ]
        .map(|(field, placement, alias)| AdditionalField {
            field: field.to_owned(),
            placement,
            alias: alias.to_owned(),
        })
        .to_vec(),
        ignores_missing: true,
        ..router()
    };
    let update = event("update", &[nested("fullDocument", &cust("x"))]);
    let events = [
        outbox_event(nested("payload", &[int32("n", 1)])),
        outbox_event(string("payload", "")),
        update.clone(),
        insert(&[int64("_id", 1)]),
        insert(&[int64("_id", 1), string("aggregatetype", "a/b")]),
    ];
    let batch = route(options.clone(), &events);
    let expected = json!({"payload": {"n": 1}, "of": "o-1"});
    assert_eq!(value(&batch, 0), Some(expected));
    assert_eq!(value(&batch, 1), None);
    let headers = &batch.extras(0).unwrap().headers;
    let names: Vec<_> = headers.iter().map(|header| &*header.name).collect();
    assert_eq!(names, ["id", "type"]);
    let failures = batch
        .failures
        .iter()
        .map(|failure| failure.error.to_string());
    let failures: Vec<_> = failures.collect();
    assert!(failures[0].starts_with("an outbox document was updated"));
    assert!(failures[1].starts_with("the document of the outbox has no field \"aggregatetype\""));
    assert!(failures[2].starts_with("the outbox document selects the topic \"outbox.event.a/b\""));
    let strict = EventRouter {
        ignores_missing: false,
        ..options
    };
    let batch = route(strict, &events[..1]);
    assert!(batch.is_empty());
    assert_eq!(batch.failures.len(), 1);
}

/// The value of a payload, or the error of a rejected event.
fn converted(converter: OutboxConverter, payload: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
    let router = EventRouter {
        expands_payload: true,
        value_converter: converter,
        ..router()
    };
    let batch = route(router, &[outbox_event(payload)]);
    match batch.failures.first() {
        Some(failure) => Err(failure.error.to_string()),
        None => Ok(batch.value(&batch.entries[0]).map(<[u8]>::to_vec)),
    }
}

fn binary(bytes: &[u8]) -> Vec<u8> {
    let length = i32::try_from(bytes.len()).unwrap().to_le_bytes();
    element(5, "payload", &[&length[..], &[0], bytes].concat())
}

#[test]
fn converters_write_payloads_without_json() {
    let written = |text: &[u8]| Ok(Some(text.to_vec()));
    let text = |payload| converted(OutboxConverter::Text, payload);
    assert_eq!(text(string("payload", "a\"b")), written(b"a\"b"));
    assert_eq!(text(string("payload", "")), written(b""));
    assert_eq!(text(int32("payload", 7)), written(b"7"));
    assert_eq!(text(double("payload", f64::NAN)), written(b"NaN"));
    let document = nested("payload", &[int32("n", 1)]);
    assert_eq!(text(document.clone()), written(br#"{"n":1}"#));
    let null = element(0x0a, "payload", &[]);
    assert_eq!(text(null.clone()), Ok(None));
    let bytes = |payload| converted(OutboxConverter::Bytes, payload);
    assert_eq!(bytes(binary(&[0xff, 0])), written(&[0xff, 0]));
    assert_eq!(bytes(binary(&[])), written(b""));
    assert_eq!(bytes(null.clone()), Ok(None));
    let error = bytes(string("payload", "x")).unwrap_err();
    assert!(error.starts_with("the field \"payload\" of the outbox is not binary"));
    let either = |payload| converted(OutboxConverter::BytesOrEncoding, payload);
    assert_eq!(either(binary(&[0xff])), written(&[0xff]));
    assert_eq!(either(document), written(br#"{"n":1}"#));
    assert_eq!(either(null), written(b"null"));
}

#[test]
fn converters_write_keys_without_json() {
    let router = EventRouter {
        key_converter: OutboxConverter::Text,
        ..router()
    };
    let batch = route(router.clone(), &[outbox_event(int32("payload", 1))]);
    assert_eq!(batch.key(&batch.entries[0]), b"o-1");
    let key = EventRouter {
        key: "payload".to_owned(),
        ..router
    };
    let batch = route(key, &[outbox_event(element(0x0a, "payload", &[]))]);
    let error = batch.failures[0].error.to_string();
    assert!(error.starts_with("the field \"payload\" of the outbox is not text"));
}

proptest! {
    #[test]
    fn damaged_outbox_events_are_rejected_or_read(
        changes in changes(),
        expands_payload: bool,
    ) {
        let bytes = outbox_event(nested("payload", &[array("l", &[double("0", 1.5)])]));
        let bytes = changed(bytes, changes);
        let length = bytes.len();
        let batch = route(EventRouter { expands_payload, ..router() }, &[bytes]);
        for failure in &batch.failures {
            prop_assert!(failure.error.offset <= length);
        }
        for index in 0..batch.len() {
            value(&batch, index);
        }
    }
}
