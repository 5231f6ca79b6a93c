//! Fragments of split events are joined if they form one event, and rejected otherwise.

use crate::written::{document, int32, int64, nested, string, timestamp};
use mongo_encoder::bson::Timestamp;
use mongo_encoder::fragments::{
    FragmentError, FragmentJoiner, Split, WholeEvent, join_fragments, split_of,
};
use mongo_encoder::stream_place::{StreamPlace, cluster_time, token_of};
use proptest::prelude::*;

/// The token is that of one event, except for the number at its end.
fn token(number: usize) -> Vec<u8> {
    let token = format!("8263D2A4F6000000022B042C0100296E5A10042B{number:02X}04");
    nested("_id", &[string("_data", &token)])
}

fn part(number: usize, total: usize, members: &[Vec<u8>]) -> Vec<u8> {
    let split = [
        int32("fragment", number.try_into().unwrap()),
        int64("of", total.try_into().unwrap()),
    ];
    let mut elements = vec![token(number), nested("splitEvent", &split)];
    elements.extend(members.iter().cloned());
    document(&elements)
}

fn join(parts: &[Vec<u8>]) -> Result<Vec<u8>, FragmentError> {
    let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
    join_fragments(&parts)
}

fn why_not(parts: &[Vec<u8>]) -> String {
    join(parts).unwrap_err().to_string()
}

fn member(name: &str) -> Vec<u8> {
    nested(name, &[string("n", name)])
}

#[test]
fn fragment_contains_its_number() {
    let parts = [part(1, 2, &[member("a")]), part(2, 2, &[])];
    let expected = Split {
        fragment: 2,
        total: 2,
    };
    assert_eq!(split_of(&parts[1]), Some(expected));
    assert_eq!(split_of(&join(&parts).unwrap()), None);
    assert_eq!(split_of(b"noise"), None);
}

#[test]
fn fragments_of_different_events_are_rejected() {
    let [first, second] = [part(1, 2, &[member("a")]), part(2, 2, &[member("b")])];
    assert_eq!(why_not(&[]), "a split event has no fragments");
    assert_eq!(
        why_not(std::slice::from_ref(&first)),
        "found fragment 1 of 2; expected fragment 1 of 1"
    );
    assert_eq!(
        why_not(&[second.clone(), first.clone()]),
        "found fragment 2 of 2; expected fragment 1 of 2"
    );
    assert_eq!(
        why_not(&[first.clone(), document(&[token(2)])]),
        "fragment 2 of a split event has no splitEvent"
    );
    assert_eq!(
        why_not(&[first.clone(), part(2, 2, &[member("a")])]),
        "two fragments of a split event contain \"a\""
    );
    let of_another = "8263D2A4F6000000032B042C0100296E5A10042B0204";
    let split = nested("splitEvent", &[int32("fragment", 2), int32("of", 2)]);
    let other = document(&[nested("_id", &[string("_data", of_another)]), split]);
    assert_eq!(
        why_not(&[first.clone(), other]),
        "fragment 1 and fragment 2 belong to different events: their tokens differ"
    );
    let mut short = second;
    short.pop();
    assert!(
        why_not(&[first, short]).starts_with("fragment 2 of a split event cannot be decoded: ")
    );
}

#[test]
fn joiner_keeps_fragments_across_replies() {
    let whole = document(&[member("b")]);
    let parts = [
        part(1, 3, &[member("a")]),
        part(2, 3, &[]),
        part(3, 3, &[member("b")]),
    ];
    let [first, second, third] = parts.each_ref().map(Vec::as_slice);
    let mut joiner = FragmentJoiner::new(false);
    let replies = [
        joiner.join([whole.as_slice(), first].into_iter()).unwrap(),
        joiner.join([second].into_iter()).unwrap(),
    ];
    assert_eq!(replies, [(vec![WholeEvent::Given(0)], 0), (Vec::new(), 0)]);
    assert!(!joiner.is_complete());
    let joined = WholeEvent::Joined(join(&parts).unwrap());
    let last = joiner.join([third, whole.as_slice()].into_iter()).unwrap();
    assert_eq!(last, (vec![joined, WholeEvent::Given(1)], 0));
    assert!(joiner.is_complete());
    let mut skipping = FragmentJoiner::new(true);
    let events = [first, second, third, whole.as_slice()];
    let skipped = skipping.join(events.into_iter()).unwrap();
    assert_eq!(skipped, (vec![WholeEvent::Given(3)], 1));
    let order = |fragment, expected| FragmentError::Order {
        fragment,
        total: 3,
        expected,
        count: 3,
    };
    assert_eq!(joiner.join([second].into_iter()), Err(order(2, 1)));
    assert_eq!(joiner.join([first, first].into_iter()), Err(order(1, 2)));
    let unfinished = FragmentError::Unfinished {
        number: 1,
        total: 3,
    };
    assert_eq!(joiner.join([whole.as_slice()].into_iter()), Err(unfinished));
}

#[test]
fn tokens_and_times_of_events_are_read() {
    let untokened = document(&[timestamp("clusterTime", 5, 1)]);
    let time = |seconds, increment| Timestamp { seconds, increment };
    let event = part(2, 2, &[]);
    assert_eq!(cluster_time(&untokened), Some(time(5, 1)));
    assert_eq!(cluster_time(&event), Some(time(0x63d2_a4f6, 2)));
    let token = token_of(&event).map(|token| token.bytes().to_vec());
    let hex = "8263D2A4F6000000022B042C0100296E5A10042B0204";
    assert_eq!(token, Some(document(&[string("_data", hex)])));
    for event in [b"noise".to_vec(), document(&[])] {
        assert_eq!(cluster_time(&event), None);
        assert_eq!(token_of(&event), None);
    }
}

#[test]
fn stream_places_are_ordered() {
    let place = |hex: &str| StreamPlace::from_hex(hex.as_bytes());
    let event = part(2, 2, &[]);
    let same = "8263d2a4f6000000022b042c0100296e5a10042b0204";
    for (hex, is_before) in [
        (same, false),
        ("8263D2A4F600000002", true),
        ("8263D2A4F600000003", false),
        ("8263D2A4F6000000022B042C0100296E5A10042B0104", true),
    ] {
        assert_eq!(
            place(hex).unwrap().is_before(&event),
            Ok(is_before),
            "{hex}"
        );
    }
    for hex in ["", "01", "8363D2A4F600000002", "8263D2A4F600000002F", "82"] {
        assert!(place(hex).is_err(), "{hex}");
    }
    let error = place(same).unwrap().is_before(b"noise").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the resume token "" does not begin with a cluster time"#
    );
}

proptest! {
    #[test]
    fn any_split_event_is_joined_again(
        names in prop::collection::btree_set("[a-z]{1,6}", 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let members: Vec<_> = names.iter().map(|name| member(name)).collect();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(members.len())).collect();
        ends.push(members.len());
        ends.sort_unstable();
        let mut start = 0;
        let mut parts = Vec::new();
        for end in &ends {
            parts.push(part(parts.len() + 1, ends.len(), &members[start..*end]));
            start = *end;
        }
        let whole = [vec![token(parts.len())], members].concat();
        prop_assert_eq!(join(&parts).unwrap(), document(&whole));
    }

    #[test]
    fn damaged_fragments_are_rejected_or_read(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut parts = [part(1, 2, &[member("a")]), part(2, 2, &[member("b")])];
        let place = place.index(parts[1].len());
        parts[1][place] = byte;
        let _ = split_of(&parts[1]);
        let _ = cluster_time(&parts[1]);
        if let Ok(joined) = join(&parts) {
            let length = i32::from_le_bytes(*joined.first_chunk().unwrap());
            prop_assert_eq!(usize::try_from(length), Ok(joined.len()));
        }
    }
}
