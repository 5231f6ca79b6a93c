//! The laws of row states, and invalid bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, StructArray};
use commitlog_core::schema::parse_cql;
use proptest::prelude::*;
use spark_merge::{Merger, Purge, Session, View};

const SCHEMA: &str = "CREATE TABLE ks.t (k blob, c blob, a blob, m map<blob, blob>, s blob static, \
    PRIMARY KEY (k, c)) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;";
const NOW_S: i64 = 11;

#[derive(Debug, Clone)]
enum Item {
    Event(String),
    State(Vec<u8>),
}

fn merger() -> Merger {
    let schema = parse_cql(SCHEMA).unwrap();
    Merger::new(schema.tables()[0]).unwrap()
}

fn batch(items: &[Item]) -> StructArray {
    let events = items.iter().map(|item| match item {
        Item::Event(text) => Some(text.as_str()),
        Item::State(_) => None,
    });
    let states = items.iter().map(|item| match item {
        Item::State(bytes) => Some(bytes.as_slice()),
        Item::Event(_) => None,
    });
    let columns: [(&str, ArrayRef); 3] = [
        ("token", Arc::new(Int64Array::from(vec![1; items.len()]))),
        ("event", Arc::new(events.collect::<StringArray>())),
        ("state", Arc::new(states.collect::<BinaryArray>())),
    ];
    StructArray::try_from(columns.to_vec()).unwrap()
}

fn run(mut session: Session, items: &[Item]) -> Result<Vec<StructArray>, String> {
    session
        .push(&batch(items))
        .map_err(|error| error.to_string())?;
    let mut batches = Vec::new();
    for is_last in [false, true] {
        if is_last {
            session.finish();
        }
        while let Some(batch) = session.next_batch().map_err(|error| error.to_string())? {
            batches.push(batch);
        }
    }
    Ok(batches)
}

fn rows(items: &[Item]) -> Vec<StructArray> {
    let view = View {
        now_s: NOW_S,
        ..View::default()
    };
    run(merger().rows(view), items).unwrap()
}

fn compacted(items: &[Item]) -> Vec<Item> {
    let batches = run(merger().compact(Purge::default(), false), items).unwrap();
    let states = batches.iter().flat_map(|batch| {
        let states: &BinaryArray = batch.column_by_name("state").unwrap().as_binary();
        (0..states.len()).map(|row| Item::State(states.value(row).to_vec()))
    });
    states.collect()
}

fn event() -> impl Strategy<Value = Item> {
    let time = -1..4_i64;
    let cell = (
        prop::sample::select(vec!["a", "m", "x"]),
        time.clone(),
        0..3,
        10..13_i64,
    );
    let cells = prop::collection::vec(cell, 0..3).prop_map(|cells| {
        let cells = cells.into_iter().map(|(column, ts, rank, ldt)| {
            let path = if column == "m" {
                r#""path": "cA==","#
            } else {
                ""
            };
            let rest = match rank {
                0 => r#""val": "AQI=""#.to_owned(),
                1 => format!(r#""ttl": 3, "ldt": {ldt}, "val": """#),
                _ => format!(r#""ldt": {ldt}, "val": null"#),
            };
            format!(r#"{{"col": "{column}", {path} "ts": {ts}, {rest}}}"#)
        });
        cells.collect::<Vec<_>>().join(",")
    });
    let live = prop::option::of(time.clone());
    let clustering = prop::sample::select(vec!["AQ==", "Ag=="]);
    let row = (clustering, live, cells, time.clone()).prop_map(|(ck, live, cells, ts)| {
        let live = live.map_or(String::new(), |ts| format!(r#""live": {{"ts": {ts}}},"#));
        format!(
            r#"{{"kind": "row", "pk": "AA==", "ck": "{ck}", "ckv": ["{ck}"], {live}
            "cdel": [{{"col": "m", "ts": {ts}, "ldt": 10}}], "cell": [{cells}]}}"#
        )
    });
    let range = time.clone().prop_map(|ts| {
        format!(
            r#"{{"kind": "range", "pk": "AA==", "lo": "AQ==", "hi": "Ag==",
            "del": {{"ts": {ts}, "ldt": 10}}}}"#
        )
    });
    let fixed = time.prop_map(|ts| {
        format!(
            r#"{{"kind": "static", "pk": "AA==",
            "cell": [{{"col": "s", "ts": {ts}, "val": "AQ=="}}]}}"#
        )
    });
    prop_oneof![4 => row, 1 => range, 1 => fixed]
        .prop_map(|cells| Item::Event(format!(r#"{{"cells": {cells}}}"#)))
}

fn events() -> impl Strategy<Value = Vec<Item>> {
    prop::collection::vec(event(), 0..12)
}

proptest! {
    #[test]
    fn states_merge_like_their_events(
        events in events(),
        choice in any::<prop::sample::Index>(),
        order in any::<u64>(),
    ) {
        let expected = rows(&events);
        let (first, second) = events.split_at(choice.index(events.len() + 1));
        let mut mixed = [compacted(first), second.to_vec(), compacted(&events)].concat();
        if !mixed.is_empty() {
            let places = order as usize % mixed.len();
            mixed.rotate_left(places);
        }
        prop_assert_eq!(rows(&mixed), expected);
        let states = compacted(&mixed);
        prop_assert_eq!(format!("{states:?}"), format!("{:?}", compacted(&events)));
    }

    #[test]
    fn damaged_state_is_rejected_or_read(
        events in events(),
        choice in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        for item in compacted(&events) {
            let Item::State(mut state) = item else { unreachable!() };
            let place = choice.index(state.len());
            if cut {
                state.truncate(place);
            } else {
                state[place] = byte;
            }
            let read = run(merger().rows(View::default()), &[Item::State(state)]);
            prop_assert!(!cut || read.is_err());
        }
    }

    #[test]
    fn arbitrary_state_bytes_are_rejected_or_read(
        mut state in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        if let Some(version) = state.first_mut() {
            *version = 1;
        }
        let _ = run(merger().compact(Purge::default(), true), &[Item::State(state)]);
    }
}
