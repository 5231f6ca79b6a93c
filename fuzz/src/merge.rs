//! Merges events and row states.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, StructArray};
use commitlog_core::schema::parse_cql;
use spark_merge::{MergeError, Merger, Purge, Session, View};

const SCHEMA: &str = "
CREATE TABLE ks.c (k blob, c blob, n counter, PRIMARY KEY (k, c))
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;
CREATE TABLE ks.t (k blob, c blob, a blob, m map<blob, blob>, s blob static, PRIMARY KEY (k, c))
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c02;";
const NOW_S: i64 = 11;

/// The input is a byte for the table, two for the length of an event, the event and a row state.
/// They are rejected, or merged into states that show the same rows and compact to themselves.
pub fn merge(input: &[u8]) {
    let Some(([table, high, low], rest)) = input.split_first_chunk::<3>() else {
        return;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let (event, state) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    let Ok(schema) = parse_cql(SCHEMA) else {
        return;
    };
    let tables = schema.tables();
    let merger = tables.get(usize::from(*table) % tables.len());
    let Some(Ok(merger)) = merger.map(|table| Merger::new(table)) else {
        return;
    };
    let event = String::from_utf8_lossy(event);
    let mut items: Vec<(Option<&str>, Option<&[u8]>)> = Vec::new();
    if !event.is_empty() {
        items.push((Some(&event), None));
    }
    if !state.is_empty() {
        items.push((None, Some(state)));
    }
    let view = View {
        now_s: NOW_S,
        ..View::default()
    };
    let Ok(states) = run(merger.compact(Purge::default(), false), &items) else {
        return;
    };
    let compacted = states_of(&states);
    let compacted: Vec<_> = compacted
        .iter()
        .map(|state| (None, Some(&state[..])))
        .collect();
    let again = run(merger.compact(Purge::default(), false), &compacted).ok();
    assert!(again.as_ref() == Some(&states), "compaction is not stable");
    let rows = run(merger.rows(view), &items).ok();
    assert!(rows.is_some(), "`rows` rejects what `compact` accepts");
    let shown = run(merger.rows(view), &compacted).ok();
    assert!(shown == rows, "states show different rows");
}

fn run(
    mut session: Session,
    items: &[(Option<&str>, Option<&[u8]>)],
) -> Result<Vec<StructArray>, MergeError> {
    let events = items.iter().map(|(event, _)| *event);
    let states = items.iter().map(|(_, state)| *state);
    let columns: [(&str, ArrayRef); 3] = [
        ("token", Arc::new(Int64Array::from(vec![1; items.len()]))),
        ("event", Arc::new(events.collect::<StringArray>())),
        ("state", Arc::new(states.collect::<BinaryArray>())),
    ];
    session.push(&StructArray::try_from(columns.to_vec())?)?;
    session.finish();
    let mut batches = Vec::new();
    while let Some(batch) = session.next_batch()? {
        batches.push(batch);
    }
    Ok(batches)
}

fn states_of(batches: &[StructArray]) -> Vec<Vec<u8>> {
    let columns = batches
        .iter()
        .filter_map(|batch| batch.column_by_name("state"));
    let states = columns.flat_map(|column| {
        let states: &BinaryArray = column.as_binary();
        (0..states.len()).map(|row| states.value(row).to_vec())
    });
    states.collect()
}
