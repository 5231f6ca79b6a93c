//! BSON that tests write, and events as a server sends them.

use std::convert::Infallible;

use mongo_encoder::batch::MessageBatch;
use mongo_encoder::encoder::Encoder;
use proptest::prelude::*;
use serde_json::Value;

pub const AT_NS: i64 = 1_700_000_000_123_456_789;

#[allow(clippy::unnecessary_wraps, reason = "`Routing` requires it")]
pub fn capture_all(_: &[u8], _: &[u8]) -> Result<bool, Infallible> {
    Ok(true)
}

/// Encodes events of all collections.
pub fn encode_all<'b>(
    encoder: &Encoder,
    events: impl IntoIterator<Item = &'b [u8], IntoIter: Clone>,
) -> MessageBatch {
    let Ok(batch) = encoder.encode(events, None, AT_NS, &mut capture_all);
    batch
}

pub fn document(elements: &[Vec<u8>]) -> Vec<u8> {
    let length = elements.iter().map(Vec::len).sum::<usize>() + 5;
    let mut bytes = i32::try_from(length).unwrap().to_le_bytes().to_vec();
    bytes.extend(elements.iter().flatten());
    bytes.push(0);
    bytes
}

pub fn element(tag: u8, name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(name.bytes().filter(|byte| *byte != 0));
    bytes.push(0);
    bytes.extend(value);
    bytes
}

pub fn text(text: &str) -> Vec<u8> {
    let length = i32::try_from(text.len() + 1).unwrap();
    [&length.to_le_bytes()[..], text.as_bytes(), &[0]].concat()
}

pub fn string(name: &str, value: &str) -> Vec<u8> {
    element(2, name, &text(value))
}

pub fn int32(name: &str, value: i32) -> Vec<u8> {
    element(0x10, name, &value.to_le_bytes())
}

pub fn int64(name: &str, value: i64) -> Vec<u8> {
    element(0x12, name, &value.to_le_bytes())
}

pub fn double(name: &str, value: f64) -> Vec<u8> {
    element(1, name, &value.to_le_bytes())
}

pub fn nested(name: &str, elements: &[Vec<u8>]) -> Vec<u8> {
    element(3, name, &document(elements))
}

pub fn array(name: &str, elements: &[Vec<u8>]) -> Vec<u8> {
    element(4, name, &document(elements))
}

pub fn timestamp(name: &str, seconds: u32, increment: u32) -> Vec<u8> {
    let value = [increment.to_le_bytes(), seconds.to_le_bytes()].concat();
    element(0x11, name, &value)
}

/// The members that the events of all operations have, for the document 7 of shop.cust.
pub fn event(operation: &str, others: &[Vec<u8>]) -> Vec<u8> {
    let token = "8263D2A4F6000000022B022C0100296E5A1004";
    let mut elements = vec![
        nested("_id", &[string("_data", token)]),
        string("operationType", operation),
        timestamp("clusterTime", 1_674_749_174, 2),
        element(9, "wallTime", &1_674_749_174_123_i64.to_le_bytes()),
    ];
    elements.extend(others.iter().cloned());
    elements.push(nested(
        "ns",
        &[string("db", "shop"), string("coll", "cust")],
    ));
    elements.push(nested("documentKey", &[int64("_id", 7)]));
    document(&elements)
}

pub fn cust(name: &str) -> Vec<Vec<u8>> {
    vec![int64("_id", 7), string("n", name)]
}

/// The insert of a document.
pub fn insert(fields: &[Vec<u8>]) -> Vec<u8> {
    event("insert", &[nested("fullDocument", fields)])
}

/// The value of a message; `None` is a tombstone.
pub fn value(batch: &MessageBatch, index: usize) -> Option<Value> {
    let entry = batch.entries.get(index);
    let entry = entry.unwrap_or_else(|| panic!("{:?}", batch.failures));
    Some(serde_json::from_slice(batch.value(entry)?).unwrap())
}

/// Changes of bytes anywhere.
pub fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)
}

pub fn changed(mut bytes: Vec<u8>, changes: Vec<(prop::sample::Index, u8)>) -> Vec<u8> {
    for (place, byte) in changes {
        let place = place.index(bytes.len());
        bytes[place] = byte;
    }
    bytes
}
