//! Parts of split events: joined when they are all of one event, refused when they are not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod written;

use mongo_encoder::bson::Timestamp;
use mongo_encoder::fragments::{FragmentError, Split, join_fragments, split_of};
use mongo_encoder::position::{cluster_time, event_times};
use proptest::prelude::*;
use written::{document, int32, int64, nested, string, timestamp};

/// Of one event, but for the number at the end.
fn token(number: usize) -> Vec<u8> {
    let token = format!("8263D2A4F6000000022B042C0100296E5A10042B{number:02X}04");
    nested("_id", &[string("_data", &token)])
}

fn part(number: usize, of: usize, members: &[Vec<u8>]) -> Vec<u8> {
    let split = [
        int32("fragment", number.try_into().unwrap()),
        int64("of", of.try_into().unwrap()),
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
fn parts_become_their_event() {
    let parts = [
        part(
            1,
            3,
            &[
                string("operationType", "update"),
                timestamp("clusterTime", 5, 6),
            ],
        ),
        part(2, 3, &[member("fullDocument")]),
        part(3, 3, &[member("updateDescription")]),
    ];
    assert_eq!(
        join(&parts).unwrap(),
        document(&[
            token(3),
            string("operationType", "update"),
            timestamp("clusterTime", 5, 6),
            member("fullDocument"),
            member("updateDescription"),
        ])
    );
    let expected = Split { fragment: 2, of: 3 };
    assert_eq!(split_of(&parts[1]), Some(expected));
    assert_eq!(split_of(&join(&parts).unwrap()), None);
    assert_eq!(split_of(b"noise"), None);
}

#[test]
fn what_is_not_one_event_is_refused() {
    let [first, second] = [part(1, 2, &[member("a")]), part(2, 2, &[member("b")])];
    assert_eq!(why_not(&[]), "a split event begins with no part");
    assert_eq!(
        why_not(std::slice::from_ref(&first)),
        "part 1 of 2 stands where part 1 of 1 is expected"
    );
    assert_eq!(
        why_not(&[second.clone(), first.clone()]),
        "part 2 of 2 stands where part 1 of 2 is expected"
    );
    assert_eq!(
        why_not(&[first.clone(), document(&[token(2)])]),
        "part 2 of a split event has no splitEvent"
    );
    assert_eq!(
        why_not(&[first.clone(), part(2, 2, &[member("a")])]),
        "two parts of a split event have \"a\""
    );
    let of_another = "8263D2A4F6000000032B042C0100296E5A10042B0204";
    let split = nested("splitEvent", &[int32("fragment", 2), int32("of", 2)]);
    let other = document(&[nested("_id", &[string("_data", of_another)]), split]);
    assert_eq!(
        why_not(&[first.clone(), other]),
        "part 2 is of another event than part 1: their tokens differ"
    );
    let mut short = second;
    short.pop();
    assert!(why_not(&[first, short]).starts_with("part 2 of a split event cannot be read: "));
}

#[test]
fn times_are_those_of_the_ends() {
    let at = |seconds| document(&[timestamp("clusterTime", seconds, 1)]);
    let of_token = part(2, 2, &[]);
    let (noise, none) = (b"noise".to_vec(), document(&[]));
    let times = |events: &[Vec<u8>]| event_times(events.iter().map(Vec::as_slice));
    let time = |seconds| Timestamp {
        seconds,
        increment: 1,
    };
    assert_eq!(
        times(&[noise.clone(), at(5), at(6), at(7), none]),
        Some((time(5), time(7)))
    );
    assert_eq!(times(&[noise]), None);
    let expected = Timestamp {
        seconds: 0x63d2_a4f6,
        increment: 2,
    };
    assert_eq!(cluster_time(&of_token), Some(expected));
}

proptest! {
    #[test]
    fn any_split_of_an_event_joins_to_it(
        names in prop::collection::btree_set("[a-z]{1,6}", 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let members: Vec<_> = names.iter().map(|name| member(name)).collect();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(members.len())).collect();
        ends.push(members.len());
        ends.sort_unstable();
        let mut from = 0;
        let mut parts = Vec::new();
        for end in &ends {
            parts.push(part(parts.len() + 1, ends.len(), &members[from..*end]));
            from = *end;
        }
        let whole = [vec![token(parts.len())], members].concat();
        prop_assert_eq!(join(&parts).unwrap(), document(&whole));
    }

    #[test]
    fn changed_parts_are_refused_or_read(
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
