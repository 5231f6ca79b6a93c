//! Messages of events: keys, values by field, tombstones, ids, and events without messages.

use crate::written::{
    self, AT_NS, array, capture_all, changed, changes, cust, document, double, element, encode_all,
    event, int32, int64, nested, string,
};
use mongo_encoder::batch::{Kind, MessageBatch};
use mongo_encoder::bson::Timestamp;
use mongo_encoder::change::{SnapshotMarker, SnapshotSource};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::{DocumentJson, EventFormat, Layout};
use proptest::prelude::*;
use serde_json::{Value, json};

fn format() -> EventFormat {
    EventFormat {
        topic_prefix: "L".to_owned(),
        connector_version: "0.2.0".to_owned(),
        replica_set: "rs0".to_owned(),
        node_id: "a".to_owned(),
        tombstones: true,
        ..EventFormat::default()
    }
}

fn encode_with(format: EventFormat, events: &[Vec<u8>]) -> MessageBatch {
    encode_all(&Encoder::new(format), events.iter().map(Vec::as_slice))
}

fn encode(events: &[Vec<u8>]) -> MessageBatch {
    encode_with(format(), events)
}

fn copied(format: EventFormat, documents: &[Vec<u8>]) -> MessageBatch {
    let copy = SnapshotSource {
        database: b"shop",
        collection: b"cust",
        cluster_time: Timestamp {
            seconds: 5,
            increment: 6,
        },
        read_at_ms: 1_600_000_000_000,
        marker: SnapshotMarker::Last,
    };
    let documents = documents.iter().map(Vec::as_slice);
    let Ok(batch) = Encoder::new(format).encode_snapshot(documents, &copy, AT_NS, &mut capture_all);
    batch
}

fn value(batch: &MessageBatch, index: usize) -> Value {
    let text = batch.value(&batch.entries[index]).unwrap();
    serde_json::from_slice(text).unwrap()
}

fn key_of(id: Vec<u8>) -> String {
    let batch = copied(format(), &[document(&[id])]);
    assert_eq!(batch.len(), 1, "{:?}", batch.failures);
    String::from_utf8(batch.key(&batch.entries[0]).to_vec()).unwrap()
}

fn insert() -> Vec<u8> {
    event("insert", &[nested("fullDocument", &cust("x"))])
}

fn update(fields: &[Vec<u8>]) -> Vec<u8> {
    event("update", &[nested("updateDescription", fields)])
}

#[test]
fn keys_match_debezium() {
    let oid = [
        0x59, 0x6e, 0x27, 0x58, 0x26, 0xf0, 0x8b, 0x27, 0x30, 0x77, 0x9e, 0x1f,
    ];
    let numbers: Vec<_> = ["0", "1"].map(|name| double(name, 10.0)).to_vec();
    let of_document = nested("_id", &[string("hi", "kafka"), array("nums", &numbers)]);
    let binary = [&5_i32.to_le_bytes()[..], &[0], b"kafka"].concat();
    for (id, expected) in [
        (int32("_id", 1234), r#"{"id":"1234"}"#),
        (int64("_id", 2_147_483_657), r#"{"id":"2147483657"}"#),
        (double("_id", 12.34), r#"{"id":"12.34"}"#),
        (double("_id", 1e10), r#"{"id":"1.0E10"}"#),
        (string("_id", "1234"), r#"{"id":"\"1234\""}"#),
        (
            of_document,
            r#"{"id":"{\"hi\": \"kafka\",\"nums\": [10.0,10.0]}"}"#,
        ),
        (
            element(7, "_id", &oid),
            r#"{"id":"{\"$oid\": \"596e275826f08b2730779e1f\"}"}"#,
        ),
        (
            element(5, "_id", &binary),
            r#"{"id":"{\"$binary\": {\"base64\": \"a2Fma2E=\",\"subType\": \"00\"}}"}"#,
        ),
        (
            element(9, "_id", &1_577_836_800_000_i64.to_le_bytes()),
            r#"{"id":"{\"$date\": \"2020-01-01T00:00:00Z\"}"}"#,
        ),
    ] {
        assert_eq!(key_of(id), expected);
    }
}

#[test]
fn insert_becomes_message() {
    let batch = encode(&[insert()]);
    let entry = &batch.entries[0];
    assert_eq!(batch.topic(entry), "L.shop.cust");
    assert_eq!(batch.key(entry), br#"{"id":"7"}"#);
    assert_eq!(entry.kind, Kind::Insert);
    assert_eq!(entry.timestamp_us, 1_674_749_174_123_000);
    assert_eq!(
        std::str::from_utf8(batch.value(entry).unwrap()).unwrap(),
        concat!(
            r#"{"before":null,"after":"{\"_id\": {\"$numberLong\": \"7\"},\"n\": \"x\"}","#,
            r#""updateDescription":null,"source":{"version":"0.2.0","connector":"mongodb","name":"L","#,
            r#""ts_ms":1674749174123,"snapshot":"false","db":"shop","sequence":null,"#,
            r#""ts_us":1674749174123000,"ts_ns":1674749174123000000,"collection":"cust","ord":2,"#,
            r#""lsid":null,"txnNumber":null,"wallTime":1674749174123},"op":"c","#,
            r#""ts_ms":1700000000123,"ts_us":1700000000123456,"ts_ns":1700000000123456789,"#,
            r#""transaction":null}"#
        )
    );
}

#[test]
fn update_becomes_message() {
    let truncated = nested("0", &[string("field", "a.b"), int32("newSize", 2)]);
    let description = [
        nested("updatedFields", &[string("n", "y"), int64("m", 1)]),
        array("removedFields", &[string("0", "old")]),
        array("truncatedArrays", &[truncated]),
    ];
    let lsid = nested("lsid", &[int64("id", 1)]);
    let event = event(
        "update",
        &[
            nested("updateDescription", &description),
            element(0x0a, "fullDocument", b""),
            nested("fullDocumentBeforeChange", &cust("x")),
            lsid,
            int64("txnNumber", 3),
        ],
    );
    let batch = encode(&[event]);
    let value = value(&batch, 0);
    assert_eq!(value["op"], "u");
    assert_eq!(value["after"], Value::Null);
    assert_eq!(value["before"], r#"{"_id": {"$numberLong": "7"},"n": "x"}"#);
    assert_eq!(
        value["updateDescription"],
        json!({
            "removedFields": ["old"],
            "updatedFields": r#"{"n": "y", "m": 1}"#,
            "truncatedArrays": [{"field": "a.b", "size": 2}],
        })
    );
    assert_eq!(value["source"]["lsid"], r#"{"id": {"$numberLong": "1"}}"#);
    assert_eq!(value["source"]["txnNumber"], 3);
}

#[test]
fn empty_parts_of_update_are_null() {
    let description = [nested("updatedFields", &[]), array("removedFields", &[])];
    let batch = encode(&[update(&description)]);
    assert_eq!(
        value(&batch, 0)["updateDescription"],
        json!({"removedFields": null, "updatedFields": "{}", "truncatedArrays": null})
    );
}

#[test]
fn delete_and_tombstone_are_one_unit() {
    let batch = encode(&[insert(), event("delete", &[]), insert()]);
    assert_eq!(batch.len(), 4);
    let [_, delete, tombstone, _] = batch.entries.as_slice() else {
        unreachable!("four messages");
    };
    assert_eq!(value(&batch, 1)["op"], "d");
    assert_eq!(value(&batch, 1)["after"], Value::Null);
    assert_eq!(batch.key(delete), batch.key(tombstone));
    assert_eq!(batch.value(tombstone), None);
    assert_ne!(delete.id, tombstone.id);
    assert_eq!(delete.partition_hash, tombstone.partition_hash);
    let done: Vec<_> = (0..=4)
        .map(|messages| batch.position_after(messages))
        .collect();
    assert_eq!(done, [0, 1, 1, 2, 3]);
    let without = EventFormat {
        tombstones: false,
        ..format()
    };
    assert_eq!(encode_with(without, &[event("delete", &[])]).len(), 1);
}

#[test]
fn envelope_matches_debezium_2_1() {
    let old = EventFormat {
        layout: Layout::Debezium21,
        ..format()
    };
    let batch = encode_with(old, &[insert()]);
    let value = value(&batch, 0);
    let names = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&value).join(" "),
        "before after patch filter updateDescription source op ts_ms transaction"
    );
    assert_eq!(
        names(&value["source"]).join(" "),
        "version connector name ts_ms snapshot db sequence rs collection ord lsid txnNumber"
    );
    assert_eq!(value["source"]["rs"], "rs0");
}

#[test]
fn native_event_keeps_fields() {
    let native = EventFormat {
        layout: Layout::Native,
        document_json: DocumentJson::Relaxed,
        ..format()
    };
    let batch = encode_with(native.clone(), &[insert()]);
    let event = value(&batch, 0);
    assert_eq!(event["operationType"], "insert");
    assert_eq!(event["fullDocument"], json!({"_id": 7, "n": "x"}));
    assert_eq!(batch.key(&batch.entries[0]), br#"{"id":"7"}"#);
    let batch = copied(native, &[document(&cust("x"))]);
    assert_eq!(
        value(&batch, 0),
        json!({
            "_id": {"_id": 7, "copyingData": true}, "operationType": "insert",
            "ns": {"db": "shop", "coll": "cust"}, "documentKey": {"_id": 7},
            "fullDocument": {"_id": 7, "n": "x"},
        })
    );
}

#[test]
fn events_without_message_are_reported() {
    let mut short = insert();
    short.pop();
    let drop = event("drop", &[]);
    let fragment = event("insert", &[nested("splitEvent", &[])]);
    let nameless = document(&[string("operationType", "insert")]);
    let batch = encode(&[short, drop, insert(), fragment, nameless]);
    assert_eq!(batch.events, 5);
    assert_eq!(batch.len(), 1);
    assert_eq!(batch.entries[0].event, 2);
    assert_eq!(batch.skipped["drop"], 1);
    let failures = batch.failures.iter();
    let failures: Vec<_> = failures
        .map(|failures| (failures.event, failures.error.to_string()))
        .collect();
    assert_eq!(failures[0].0, 0);
    assert!(
        failures[0].1.contains("has the invalid length"),
        "{failures:?}"
    );
    assert_eq!(failures[1].0, 3);
    assert!(failures[1].1.contains("a split event"), "{failures:?}");
    assert_eq!(
        failures[2],
        (4, "the event has no documentKey at byte 0".to_owned())
    );
    assert_eq!(batch.size_bytes(), encode(&[insert()]).size_bytes());
}

#[test]
fn skipped_operations_are_counted() {
    let without = EventFormat {
        skipped_operations: vec!["u", "d", "r"],
        ..format()
    };
    let events = [
        event("delete", &[]),
        event("replace", &[]),
        update(&[]),
        insert(),
    ];
    let batch = encode_with(without.clone(), &events);
    assert_eq!(batch.len(), 1);
    assert_eq!(batch.entries[0].event, 3);
    let skipped: Vec<_> = batch.skipped.keys().map(String::as_str).collect();
    assert_eq!(skipped, ["delete", "replace", "update"]);
    let batch = copied(without, &[document(&cust("x"))]);
    assert!(batch.is_empty());
    assert_eq!(batch.skipped["read"], 1);
}

#[test]
fn messages_are_counted_by_collection_and_kind() {
    let batch = encode(&[insert(), event("delete", &[]), insert()]);
    let counts = batch.counts();
    let count = |kind| counts[&("shop.cust".to_owned(), kind)];
    assert_eq!(
        [Kind::Insert, Kind::Delete, Kind::Tombstone].map(count),
        [2, 1, 1]
    );
    assert_eq!(counts.len(), 3);
}

#[test]
fn topic_names_are_legal_in_kafka() {
    let named = document(&[
        string("operationType", "delete"),
        written::timestamp("clusterTime", 1, 1),
        nested("ns", &[string("db", "a b"), string("coll", "ü$x")]),
        nested("documentKey", &[string("country", "x"), int32("_id", 1)]),
    ]);
    let batch = encode(&[named]);
    assert_eq!(batch.topic(&batch.entries[0]), "L.a_b.__x");
    assert_eq!(batch.key(&batch.entries[0]), br#"{"id":"1"}"#);
    assert_eq!(batch.entries[0].timestamp_us, 1_000_000);
}

/// The ids of one event, read with different stream options.
#[test]
fn event_ids_exclude_reader_options() {
    let id = |event: &Vec<u8>| encode(std::slice::from_ref(event)).entries[0].id;
    let fields = || nested("updatedFields", &[string("n", "y")]);
    let plain = id(&update(&[fields()]));
    let looked_up = event(
        "update",
        &[
            nested(
                "updateDescription",
                &[fields(), array("removedFields", &[])],
            ),
            nested("fullDocument", &cust("later")),
            nested("fullDocumentBeforeChange", &cust("before")),
        ],
    );
    assert_eq!(plain, id(&looked_up));
    let others = [
        update(&[nested("updatedFields", &[string("n", "z")])]),
        update(&[fields(), array("removedFields", &[string("0", "o")])]),
        event("replace", &[]),
        event("delete", &[]),
        insert(),
        event(
            "update",
            &[
                nested("updateDescription", &[fields()]),
                nested("lsid", &[int64("id", 1)]),
                int64("txnNumber", 1),
            ],
        ),
    ];
    let mut ids: Vec<_> = others.iter().map(id).collect();
    ids.push(plain);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 7);
}

#[test]
fn operations_of_transaction_have_different_ids() {
    let event_at = |place: &str| {
        let token = format!("8263D2A4F6000000022B022C0100{place}6E5A1004");
        document(&[
            nested("_id", &[string("_data", &token)]),
            string("operationType", "delete"),
            written::timestamp("clusterTime", 1, 1),
            nested("ns", &[string("db", "d"), string("coll", "c")]),
            nested("documentKey", &[int32("_id", 1)]),
        ])
    };
    let batch = encode(&[event_at("29"), event_at("2B02"), event_at("29")]);
    let ids: Vec<_> = batch.entries.iter().map(|entry| entry.id).collect();
    assert_ne!(ids[0], ids[2]);
    assert_eq!(ids[0], ids[4]);
}

proptest! {
    #[test]
    fn damaged_events_are_rejected_or_read(
        which in 0..3_usize,
        changes in changes(),
        layout in prop::sample::select(Layout::NAMES.map(|(_, layout)| layout).to_vec()),
    ) {
        let bytes = match which {
            0 => insert(),
            1 => update(&[
                nested("updatedFields", &[string("n", "z")]),
                array("removedFields", &[string("0", "o")]),
                array("truncatedArrays", &[nested("0", &[string("field", "a"), int32("newSize", 2)])]),
            ]),
            _ => event("delete", &[nested("fullDocumentBeforeChange", &cust("before"))]),
        };
        let bytes = changed(bytes, changes);
        let length = bytes.len();
        let batch = encode_with(EventFormat { layout, ..format() }, &[bytes]);
        for failures in &batch.failures {
            prop_assert!(failures.error.offset <= length);
        }
        for entry in &batch.entries {
            let key: Result<Value, _> = serde_json::from_slice(batch.key(entry));
            prop_assert!(key.is_ok());
            if let Some(value) = batch.value(entry) {
                let value: Result<Value, _> = serde_json::from_slice(value);
                prop_assert!(value.is_ok());
            }
        }
        let skipped: u64 = batch.skipped.values().sum();
        let told = batch.entries.len() + batch.failures.len();
        prop_assert!(told as u64 + skipped >= 1);
    }
}
