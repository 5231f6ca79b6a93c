//! Encodes arbitrary bytes as a cursor reply, intact and damaged.

use mongo_encoder::bson::Document;
use mongo_encoder::encoder::Encoder;
use mongo_encoder::fields::FieldRules;
use mongo_encoder::fragments::{FragmentJoiner, WholeEvent};
use mongo_encoder::reply::parse_reply;

use crate::mongo_checks::{check, check_copied, check_halves, check_places, encode, event_format};

/// The input is a byte for the layout, a byte for the flavour of JSON, an offset, a false length to
/// write there, and a reply.
///
/// Events and token of a reply lie inside it. A batch of events, also as snapshot documents, yields
/// JSON in its order, or errors with offsets inside the events. A truncated reply is rejected. A
/// reply with a false length is rejected or meets these guarantees.
pub fn mongo_reply(input: &[u8]) {
    let Some(([layout, json, place, place_low, lie @ ..], bytes)) = input.split_first_chunk::<8>()
    else {
        return;
    };
    let place = usize::from(u16::from_be_bytes([*place, *place_low]));
    check_batch(bytes, *layout, *json);
    if let Ok(length) = Document::parse(bytes).map(|reply| reply.bytes().len()) {
        let cut = bytes.get(..place.min(length.saturating_sub(1)));
        assert!(
            parse_reply(cut.unwrap_or_default()).is_err(),
            "a truncated reply is accepted"
        );
    }
    let mut damaged = bytes.to_vec();
    if let Some(length) = damaged.get_mut(place..).and_then(<[u8]>::first_chunk_mut) {
        *length = *lie;
        check_batch(&damaged, *layout, *json);
    }
}

fn check_batch(bytes: &[u8], layout: u8, json: u8) {
    let Ok(reply) = parse_reply(bytes) else {
        return;
    };
    check_places(bytes, &reply);
    let events: Vec<_> = reply
        .events
        .iter()
        .filter_map(|place| bytes.get(place.clone()))
        .collect();
    let format = event_format(layout, json, FieldRules::default());
    let batch = encode(&format, &events, None);
    check(&batch, &events, format.layout);
    check_halves(&format, &events, &batch);
    check_copied(&format, &events);
    if let Ok((whole, _)) = FragmentJoiner::new(false).join(events.iter().copied()) {
        for event in whole {
            if let WholeEvent::Joined(event) = event {
                assert!(Document::parse(&event).is_ok(), "joined event is not BSON");
            }
        }
    }
    // Like a stream reader, ends the transaction at the time of the reply.
    let open = batch.transaction_after(events.len());
    if let (Some(transaction), Some(time)) = (open, reply.operation_time) {
        let end = Encoder::new(format).end_transaction(transaction, time);
        assert!(end.len() <= 1, "a transaction ends twice");
    }
}
