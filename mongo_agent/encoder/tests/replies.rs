//! Replies of cursors: the places of their parts, and invalid replies.

use crate::written::{array, document, double, int64, nested, string, timestamp};
use mongo_encoder::bson::Timestamp;
use mongo_encoder::reply::parse_reply;
use proptest::prelude::*;

fn reply(batch: &str, events: &[Vec<u8>]) -> Vec<u8> {
    let events: Vec<_> = events
        .iter()
        .enumerate()
        .map(|(number, event)| nested(&number.to_string(), std::slice::from_ref(event)))
        .collect();
    let token = nested("postBatchResumeToken", &[string("_data", "82")]);
    let cursor = [
        string("ns", "shop.cust"),
        array(batch, &events),
        token,
        id(),
    ];
    let time = timestamp("operationTime", 8, 9);
    document(&[double("ok", 1.0), nested("cursor", &cursor), time])
}

fn id() -> Vec<u8> {
    int64("id", 5)
}

fn failure(bytes: &[u8]) -> String {
    parse_reply(bytes).unwrap_err().to_string()
}

proptest! {
    #[test]
    fn events_of_reply_are_located(
        texts in prop::collection::vec(".{0,20}", 0..5),
        is_first: bool,
    ) {
        let events: Vec<_> = texts.iter().map(|text| string("n", text)).collect();
        let bytes = reply(if is_first { "firstBatch" } else { "nextBatch" }, &events);
        let parsed = parse_reply(&bytes).unwrap();
        let found: Vec<_> = parsed.events.iter().map(|place| bytes[place.clone()].to_vec()).collect();
        let given: Vec<_> = events.iter().map(|event| document(std::slice::from_ref(event))).collect();
        prop_assert_eq!(found, given);
        let token = parsed.token.map(|token| bytes[token].to_vec());
        prop_assert_eq!(token, Some(document(&[string("_data", "82")])));
        prop_assert_eq!((parsed.cursor_id, parsed.namespace.as_str()), (5, "shop.cust"));
        let time = Timestamp { seconds: 8, increment: 9 };
        prop_assert_eq!(parsed.operation_time, Some(time));
    }

    #[test]
    fn truncated_reply_is_rejected(cut in 0_usize..150) {
        let bytes = reply("nextBatch", &[string("n", "x"), string("n", "y")]);
        prop_assume!(cut < bytes.len());
        prop_assert!(parse_reply(&bytes[..cut]).is_err());
    }
}

#[test]
fn events_of_reply_are_not_parsed() {
    let bytes = reply("nextBatch", &[vec![0x44, 0]]);
    let parsed = parse_reply(&bytes).unwrap();
    assert_eq!(parsed.events.len(), 1);
}

#[test]
fn invalid_reply_is_reported() {
    let no_batch = "the reply has no batch of documents at byte";
    let ok = document(&[double("ok", 1.0)]);
    assert_eq!(failure(&ok), format!("{no_batch} 0"));
    let name = || string("ns", "shop.cust");
    let empty = document(&[nested("cursor", &[id(), name()])]);
    assert_eq!(failure(&empty), format!("{no_batch} 12"));
    let cause = |members: &[Vec<u8>]| failure(&document(&[nested("cursor", members)]));
    let batch = || array("nextBatch", &[]);
    assert_eq!(
        cause(&[batch(), name()]),
        "the cursor of the reply has no id at byte 12"
    );
    assert_eq!(
        cause(&[batch(), id()]),
        "the cursor of the reply has no ns at byte 12"
    );
    let numbers = array("nextBatch", &[int64("0", 1)]);
    let numbers = document(&[nested("cursor", &[numbers])]);
    assert!(failure(&numbers).starts_with(no_batch));
    assert_eq!(failure(&[5, 0, 0]), "expected 4 bytes; 3 remain at byte 0");
}
