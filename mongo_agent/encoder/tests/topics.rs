//! Topics shared by several kinds of messages.

use crate::written::{cust, encode_all, event, nested};
use mongo_encoder::batch::Kind;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::{Encoding, EventFormat};
use serde_json::Value;

#[test]
fn documents_and_ddl_events_have_separate_schemas() {
    let topic = "L.shop.cust".to_owned();
    let encoder = Encoder::new(EventFormat {
        topic_prefix: "L".to_owned(),
        schema_topic: Some(topic.clone()),
        value: Encoding::JsonWithSchema,
        ..EventFormat::default()
    });
    let insert = event("insert", &[nested("fullDocument", &cust("x"))]);
    let drop = event("drop", &[]);
    let events = [&insert, &drop, &insert, &drop];
    let batch = encode_all(&encoder, events.into_iter().map(Vec::as_slice));
    let schema = |index: usize| {
        let text = batch.value(&batch.entries[index]).unwrap();
        let value: Value = serde_json::from_slice(text).unwrap();
        value["schema"]["name"].as_str().unwrap().to_owned()
    };
    let names = ["Envelope", "SchemaChange"].map(|record| format!("{topic}.{record}"));
    let [documents, others] = &names;
    assert_eq!(
        [0, 1, 2, 3].map(schema).each_ref(),
        [documents, others, documents, others]
    );
    assert!(
        batch
            .entries
            .iter()
            .all(|entry| batch.topic(entry) == topic)
    );
    let counts = batch.counts();
    let count = |kind| counts[&("shop.cust".to_owned(), kind)];
    assert_eq!([Kind::Insert, Kind::Schema].map(count), [2, 2]);
}
