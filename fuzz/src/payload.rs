//! Decodes payloads with any schema.

use std::sync::Arc;

use commitlog_core::descriptor::Version;
use commitlog_core::dump::write_mutation;
use commitlog_core::mutation::Decoder;
use commitlog_core::row::Row;
use commitlog_core::scan::Scan;
use commitlog_core::schema::{Schema, parse_cql};
use commitlog_core::segment::SegmentReader;
use commitlog_events::batch::Stop;
use commitlog_events::format::{CounterEvents, EventFormat, TableFilter};
use commitlog_events::reader::{EventReader, ReadRequest};

use crate::segment::segment_of;

const VERSIONS: [Version; 4] = [Version::V6, Version::V7, Version::V8, Version::V9];

/// The input is a byte for the version, two for the length of a CQL schema, the schema and the
/// payload. Scan and dump both accept it or both reject it; lines, keys and values are JSON.
pub fn payload(input: &[u8]) {
    let Some(([version, high, low], rest)) = input.split_first_chunk::<3>() else {
        return;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let Some((text, payload)) = rest.split_at_checked(length) else {
        return;
    };
    let Ok(schema) = parse_cql(&String::from_utf8_lossy(text)) else {
        return;
    };
    let Some(version) = VERSIONS
        .get(usize::from(*version) % VERSIONS.len())
        .copied()
    else {
        return;
    };
    let schema = Arc::new(schema);
    let mut decoder = Decoder::new(Arc::clone(&schema));
    let mut row = Row::default();
    let scanned = Scan::default().visit(&mut decoder, version, payload, &mut row);
    let mut line = String::new();
    let dumped = write_mutation(&mut line, &mut decoder, "s", version, 1, payload);
    assert!(
        scanned.is_ok() == dumped.is_ok(),
        "scan: {scanned:?}, dump: {dumped:?}"
    );
    for line in line.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "{line}"
        );
    }
    events(&schema, version, payload);
}

/// Reads the payload as the only record of a segment.
fn events(schema: &Arc<Schema>, version: Version, payload: &[u8]) {
    let name = format!("CommitLog-{}-1.log", version.number());
    let Ok(mut segment) = SegmentReader::open(&name, segment_of(version, payload), 0) else {
        return;
    };
    let Ok(tables) = TableFilter::new([], [], true) else {
        return;
    };
    let format = EventFormat {
        cells: true,
        counter_events: CounterEvents::Shards,
        tables,
        ..EventFormat::default()
    };
    let mut request = ReadRequest {
        limit: None,
        complete: true,
        expected_end: 0,
        completed_at: 0,
        max_events: 1000,
        max_bytes: 1 << 20,
        abandoned: Vec::new(),
        announced: None,
        now_ms: 0,
    };
    let mut reader = EventReader::new(Arc::clone(schema), Arc::new(format));
    for _ in 0..8 {
        let Ok(batch) = reader.read(&mut segment, &request, None) else {
            return;
        };
        for entry in &batch.entries {
            for bytes in [batch.key(entry), batch.value(entry)] {
                let json = serde_json::from_slice::<serde_json::Value>(bytes);
                assert!(json.is_ok(), "{}", String::from_utf8_lossy(bytes));
            }
        }
        match (batch.stop, &batch.blocked) {
            (Stop::End, _) => return,
            (Stop::Blocked, Some(blocked)) if request.abandoned.contains(&blocked.missing()) => {
                return;
            }
            (Stop::Blocked, Some(blocked)) => request.abandoned.push(blocked.missing()),
            _ => {}
        }
    }
}
