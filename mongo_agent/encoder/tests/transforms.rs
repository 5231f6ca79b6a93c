//! Transformed messages: their documents, deletes, and events without messages.

use crate::written::{
    self, array, changed, changes, cust, document, double, element, encode_all, event, insert,
    int64, nested, string, value,
};
use mongo_encoder::batch::MessageBatch;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::{EventFormat, Layout};
use mongo_encoder::transform::{
    ArrayEncoding, DeleteHandling, ExtractDocument, NamedMember, Transform,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn encode(options: ExtractDocument, events: &[Vec<u8>]) -> MessageBatch {
    encode_with(Transform::ExtractDocument(options), events)
}

fn encode_with(transform: Transform, events: &[Vec<u8>]) -> MessageBatch {
    let format = EventFormat {
        topic_prefix: "L".to_owned(),
        tombstones: true,
        ..EventFormat::default()
    };
    let encoder = Encoder::new(format).with_transforms(vec![transform]);
    encode_all(&encoder, events.iter().map(Vec::as_slice))
}

fn transformed(options: ExtractDocument, fields: &[Vec<u8>]) -> Value {
    let batch = encode(options, &[insert(fields)]);
    assert_eq!(batch.len(), 1, "{:?}", batch.failures);
    value(&batch, 0).unwrap()
}

#[test]
fn envelope_members_are_added_to_document() {
    let parse = |text| NamedMember::parse("__", text, Layout::Debezium3).unwrap();
    let options = ExtractDocument {
        fields: ["op", "source.ts_ms", "db:from", "lsid"]
            .map(parse)
            .to_vec(),
        headers: ["op", "collection", "lsid", "ord"].map(parse).to_vec(),
        deletes: DeleteHandling::RewriteWithTombstone,
        ..ExtractDocument::default()
    };
    let batch = encode(options, &[insert(&cust("x")), event("delete", &[])]);
    let expected = json!({
        "_id": 7, "n": "x", "__deleted": false, "__op": "c", "__source_ts_ms": 1_674_749_174_123_i64,
        "__from": "shop", "__lsid": null,
    });
    assert_eq!(value(&batch, 0), Some(expected));
    let headers = |message| {
        let headers = batch.extras(message).unwrap().headers.iter();
        let shown = headers
            .map(|header| format!("{}={}", header.name, String::from_utf8_lossy(&header.value)));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(headers(0), ["__op=c", "__collection=cust", "__ord=2"]);
    assert_eq!(headers(1), ["__op=d", "__collection=cust", "__ord=2"]);
    assert_eq!(headers(2), ["__op=d"]);
    let cause = |text| {
        NamedMember::parse("", text, Layout::Debezium21)
            .unwrap_err()
            .to_string()
    };
    assert!(
        cause("wallTime").starts_with("`wallTime` is not a member of the envelope; members: op,")
    );
    assert_eq!(
        cause("op:"),
        "`op:` is not of the form `member` or `member:name`"
    );
    let nested = NamedMember::parse_header("", "updateDescription", Layout::Debezium3);
    assert!(nested.is_err());
}

/// A value without a delimiter in its names, and its JSON.
fn values() -> impl Strategy<Value = (u8, Vec<u8>, Value)> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| (0x10, n.to_le_bytes().to_vec(), json!(n))),
        any::<i64>().prop_map(|n| (0x12, n.to_le_bytes().to_vec(), json!(n))),
        any::<bool>().prop_map(|b| (8, vec![u8::from(b)], json!(b))),
        any::<String>().prop_map(|text| (2, written::text(&text), json!(text))),
        Just((0x0a, Vec::new(), Value::Null)),
        any::<[u8; 12]>().prop_map(|id| {
            let hex: Vec<_> = id.iter().map(|byte| format!("{byte:02x}")).collect();
            (7, id.to_vec(), json!(hex.concat()))
        }),
        any::<i64>().prop_map(|ms| (9, ms.to_le_bytes().to_vec(), json!(ms))),
        any::<i32>().prop_map(|n| f64::from(n) / 4.0).prop_map(|n| (
            1,
            n.to_le_bytes().to_vec(),
            json!(n)
        )),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-zé\"\\\\]{1,4}", inner.clone(), 1..5).prop_map(
                |fields| {
                    let elements = fields
                        .iter()
                        .map(|(name, (tag, value, _))| element(*tag, name, value));
                    let json = fields
                        .iter()
                        .map(|(name, (.., json))| (name.clone(), json.clone()));
                    (
                        3,
                        document(&elements.collect::<Vec<_>>()),
                        Value::Object(json.collect()),
                    )
                }
            ),
            // Documents in one array would receive each other's fields.
            prop::collection::vec(inner, 1..2).prop_map(|items| {
                let elements = items
                    .iter()
                    .map(|(tag, value, _)| element(*tag, "0", value));
                let json = items.iter().map(|(.., json)| json.clone()).collect();
                (
                    4,
                    document(&elements.collect::<Vec<_>>()),
                    Value::Array(json),
                )
            }),
        ]
    })
}

fn unflattened(flat: Value) -> Value {
    let Value::Object(members) = flat else {
        return flat;
    };
    let mut whole = Value::Null;
    for (path, value) in members {
        let mut place = &mut whole;
        for name in path.split('_') {
            place = &mut place[name];
        }
        *place = value;
    }
    whole
}

proptest! {
    #[test]
    fn transformed_message_equals_document(
        fields in prop::collection::btree_map("[a-z]{1,4}", values(), 1..6)
    ) {
        let elements = fields.iter().map(|(name, (tag, value, _))| element(*tag, name, value));
        let elements = elements.collect::<Vec<_>>();
        let json = fields.iter().map(|(name, (.., json))| (name.clone(), json.clone()));
        let json = Value::Object(json.collect());
        prop_assert_eq!(&transformed(ExtractDocument::default(), &elements), &json);
        let flat = ExtractDocument {
            delimiter: Some("_".to_owned()),
            ..ExtractDocument::default()
        };
        prop_assert_eq!(unflattened(transformed(flat, &elements)), json);
    }

    #[test]
    fn damaged_events_are_rejected_or_read(
        which in 0..3_usize,
        flat: bool,
        is_document: bool,
        changes in changes(),
    ) {
        let items = [nested("0", &[double("a", 1.5)]), nested("1", &[int64("b", 2)])];
        let bytes = match which {
            0 => insert(&[array("l", &items), nested("d", &[string("e", "f")])]),
            1 => event("update", &[nested("updateDescription", &[nested("updatedFields", &items)])]),
            _ => event("delete", &[nested("fullDocumentBeforeChange", &items)]),
        };
        let bytes = changed(bytes, changes);
        let options = ExtractDocument {
            arrays: if is_document { ArrayEncoding::Document } else { ArrayEncoding::Array },
            delimiter: flat.then(|| "_".to_owned()),
            deletes: DeleteHandling::RewriteWithTombstone,
            ..ExtractDocument::default()
        };
        let length = bytes.len();
        let batch = encode(options, &[bytes]);
        for failure in &batch.failures {
            prop_assert!(failure.error.offset <= length);
        }
        for index in 0..batch.len() {
            let key: Result<Value, _> = serde_json::from_slice(batch.key(&batch.entries[index]));
            prop_assert!(key.is_ok());
            value(&batch, index);
        }
    }
}
