//! Transformed messages with the schema of their document: JSON and Avro.

use std::sync::Arc;

use crate::written::{
    array, changed, changes, double, element, encode_all, insert, int32, int64, nested, string,
    value,
};
use event_encoding::schema_ids::SchemaIds;
use mongo_encoder::batch::MessageBatch;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::{Encoding, EventFormat};
use mongo_encoder::transform::{ArrayEncoding, ExtractDocument, Transform};
use proptest::prelude::*;
use serde_json::{Value, json};

fn encoder(transform: Transform, encoding: Encoding, ids: &Arc<SchemaIds>) -> Encoder {
    Encoder::new(EventFormat {
        topic_prefix: "L".to_owned(),
        key: encoding,
        value: encoding,
        schema_ids: Arc::clone(ids),
        ..EventFormat::default()
    })
    .with_transforms(vec![transform])
}

fn encode(transform: Transform, encoding: Encoding, events: &[Vec<u8>]) -> MessageBatch {
    let encoder = encoder(transform, encoding, &Arc::default());
    encode_all(&encoder, events.iter().map(Vec::as_slice))
}

fn typed(options: ExtractDocument, fields: &[Vec<u8>]) -> Value {
    let transform = Transform::ExtractDocument(options);
    let batch = encode(transform, Encoding::JsonWithSchema, &[insert(fields)]);
    value(&batch, 0).unwrap()
}

fn with(mut schema: Value, mut members: Value) -> Value {
    let members = members.as_object_mut().unwrap();
    schema.as_object_mut().unwrap().append(members);
    schema
}

fn of_type(name: &str) -> Value {
    json!({"type": name, "optional": true})
}

fn field(name: &str, schema: Value) -> Value {
    with(schema, json!({"field": name}))
}

fn structure(name: &str, fields: &[Value]) -> Value {
    with(of_type("struct"), json!({"fields": fields, "name": name}))
}

#[test]
fn each_bson_type_has_schema() {
    let fields = [
        int64("_id", 7),
        int32("i", 1),
        double("d", 0.5),
        element(8, "b", &[1]),
        string("s", "x"),
        element(0x0a, "n", &[]),
        element(9, "t", &5_i64.to_le_bytes()),
        element(5, "bin", &[1, 0, 0, 0, 0, 0xff]),
        element(0x0b, "r", b"x\0i\0"),
        nested("o", &[int32("p", 1), nested("e", &[])]),
        array("l", &[int32("0", 3)]),
        array("none", &[]),
    ];
    let timestamp = json!({"name": "org.apache.kafka.connect.data.Timestamp", "version": 1});
    let regex = structure(
        "io.debezium.mongodb.regex",
        &[
            field("regex", of_type("string")),
            field("options", of_type("string")),
        ],
    );
    let empty = with(of_type("struct"), json!({"fields": []}));
    let array_of = |items: Value| with(of_type("array"), json!({"items": items}));
    let nested = structure(
        "L.shop.cust.o",
        &[field("p", of_type("int32")), field("e", empty)],
    );
    let schema = json!({
        "type": "struct",
        "fields": [
            field("_id", of_type("int64")),
            field("i", of_type("int32")),
            field("d", of_type("double")),
            field("b", of_type("boolean")),
            field("s", of_type("string")),
            field("n", of_type("string")),
            field("t", with(of_type("int64"), timestamp)),
            field("bin", of_type("bytes")),
            field("r", regex),
            field("o", nested),
            field("l", array_of(of_type("int32"))),
            field("none", array_of(of_type("string"))),
        ],
        "optional": false,
        "name": "L.shop.cust",
    });
    let payload = json!({
        "_id": 7, "i": 1, "d": 0.5, "b": true, "s": "x", "n": null, "t": 5, "bin": "/w==",
        "r": {"regex": "x", "options": "i"}, "o": {"p": 1, "e": {}}, "l": [3], "none": [],
    });
    let expected = json!({"schema": schema, "payload": payload});
    assert_eq!(typed(ExtractDocument::default(), &fields), expected);
}

#[test]
fn documents_of_equal_shape_share_avro_schema() {
    let ids = Arc::new(SchemaIds::default());
    let options = ExtractDocument::default();
    let encoder = encoder(Transform::ExtractDocument(options), Encoding::Avro, &ids);
    let item = |n| nested("0", &[int32("a-b", n)]);
    let document = |n| insert(&[int64("_id", 7), string("s", "é"), array("l", &[item(n)])]);
    let encode = |events: &[Vec<u8>]| encode_all(&encoder, events.iter().map(Vec::as_slice));
    let batch = encode(&[document(1), document(2)]);
    for (id, schema) in batch.unregistered.iter().enumerate() {
        ids.set(schema, u32::try_from(id).unwrap() % 2);
    }
    assert_eq!(batch.unregistered.len(), 4);
    assert_eq!(batch.unregistered[1], batch.unregistered[3]);
    let schema: Value = serde_json::from_str(&batch.unregistered[1].schema).unwrap();
    assert_eq!(schema["fields"][0]["type"], json!(["null", "long"]));
    let items = &schema["fields"][2]["type"][1]["items"][1];
    assert_eq!(
        (&items["namespace"], &items["name"]),
        (&json!("L.shop.cust"), &json!("l"))
    );
    assert_eq!(items["fields"][0]["name"], "a_b");
    let batch = encode(&[document(3)]);
    assert!(batch.unregistered.is_empty());
    let entry = &batch.entries[0];
    assert_eq!(batch.key(entry), [0, 0, 0, 0, 0, 2, 14]);
    let text = [2, 4, 0xc3, 0xa9];
    let list = [2, 2, 2, 2, 6, 0];
    let expected = [&[0, 0, 0, 0, 1, 2, 14][..], &text, &list].concat();
    assert_eq!(batch.value(entry).unwrap(), expected);
}

proptest! {
    #[test]
    fn damaged_events_are_rejected_or_equal_schemaless_payload(
        flat: bool,
        is_document: bool,
        changes in changes(),
    ) {
        let items = [
            nested("0", &[double("a", 1.5), array("n", &[int32("0", 1)])]),
            nested("1", &[int64("b", 2), array("n", &[])]),
        ];
        let bytes = insert(&[array("l", &items), nested("d", &[string("e", "f")])]);
        let bytes = changed(bytes, changes);
        let options = ExtractDocument {
            arrays: if is_document { ArrayEncoding::Document } else { ArrayEncoding::Array },
            delimiter: flat.then(|| "_".to_owned()),
            ..ExtractDocument::default()
        };
        let events = [bytes];
        let encode_as = |encoding| encode(Transform::ExtractDocument(options.clone()), encoding, &events);
        let (plain, typed) = (encode_as(Encoding::Json), encode_as(Encoding::JsonWithSchema));
        encode_as(Encoding::Avro);
        if typed.is_empty() || typed.value(&typed.entries[0]).is_none() {
            let without_value = plain.entries.iter().all(|entry| plain.value(entry).is_none());
            prop_assert!(!typed.failures.is_empty() || without_value);
        } else {
            prop_assert_eq!(&value(&typed, 0).unwrap()["payload"], &value(&plain, 0).unwrap());
        }
    }
}
