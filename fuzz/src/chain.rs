//! Reads the chain of sections and its records, in every framing.

use commitlog_core::segment::{Fill, Gap, SegmentReader};

use crate::framing::Framing;
use crate::segment::{NAME, Segment, build, crc};

/// A record that a reader returned.
struct Found {
    end: u64,
    payload: Vec<u8>,
}

/// All records and gaps that a reader returned.
#[derive(Default)]
struct Reading {
    records: Vec<Found>,
    gaps: Vec<Gap>,
}

/// Checks that each returned record was written, and that no record or gap runs backwards. Whole
/// records before stray bytes or a damaged section are returned, also from a live segment. A reader
/// that resumes after a record returns the rest, or reports a gap in a damaged segment.
pub fn chain(input: &[u8]) {
    let segment = build(input);
    let Some(whole) = read(&segment, 0, true) else {
        return;
    };
    check_certain(&segment, &whole.records);
    check_written(&segment, &whole.records);
    if let Some(live) = read(&segment, 0, false) {
        check_written(&segment, &live.records);
        if !segment.starts_late {
            // Otherwise a live reader waits for the first marker.
            check_certain(&segment, &live.records);
        }
    }
    let (read_before, expected) = whole.records.split_at(whole.records.len().div_ceil(2));
    if let Some(last) = read_before.last() {
        let rest = read(&segment, last.end, true).unwrap_or_default();
        check_written(&segment, &rest.records);
        // The whole segment is kept if damage is reported, so no record is lost.
        let is_told = segment.is_damaged && !rest.gaps.is_empty();
        for record in expected {
            let end = record.end;
            assert!(
                is_told || rest.records.iter().any(|found| found.end == end),
                "after {}, the record that ends at {end} is lost, gaps {:?}",
                last.end,
                rest.gaps
            );
        }
    }
}

/// Reads everything after `position`. Returns `None` if the segment is rejected.
fn read(segment: &Segment, position: u64, complete: bool) -> Option<Reading> {
    let keys = segment.framing.keys();
    let data = segment.data.clone();
    let limit = segment.data.len() + segment.logical.len() + 16;
    let mut reader = SegmentReader::open_with_keys(NAME, data, position, &keys).ok()?;
    let mut found = Reading::default();
    let mut last = position;
    for step in 0.. {
        assert!(step <= limit, "reading does not terminate");
        match reader.fill(None, complete) {
            Ok(Fill::End) | Err(_) => break,
            Ok(Fill::Gap(gap)) => {
                assert!(
                    gap.end.is_none_or(|end| gap.start <= end),
                    "a gap runs backwards"
                );
                found.gaps.push(gap);
            }
            Ok(Fill::Records) => {
                for record in reader.records() {
                    assert!(record.end > last, "records run backwards");
                    last = record.end;
                    found.records.push(Found {
                        end: record.end,
                        payload: record.payload.to_vec(),
                    });
                }
                reader.consume(last);
            }
        }
    }
    Some(found)
}

/// Compares positions only in plain framing: damage can copy records within a block, so the reader
/// omits repeated records of a damaged block.
fn check_certain(segment: &Segment, found: &[Found]) {
    for record in &segment.certain {
        let is_there = found.iter().any(|candidate| {
            candidate.payload == record.payload
                && (candidate.end == record.end || segment.framing != Framing::Plain)
        });
        assert!(is_there, "the record that ends at {} is lost", record.end);
    }
}

/// Requires the bytes of each record at its position, or anywhere in the log if damage may have
/// shifted later positions.
fn check_written(segment: &Segment, found: &[Found]) {
    for Found { end, payload } in found {
        let size = (payload.len() as u32).to_be_bytes();
        let sums = [crc(&[&size]), crc(&[&size, payload])];
        let record = [&size[..], &sums[0], payload, &sums[1]].concat();
        let end = *end as usize;
        let is_written = if segment.is_damaged && segment.framing != Framing::Plain {
            let mut places = segment.logical.windows(record.len());
            places.any(|bytes| bytes == record)
        } else {
            let start = end.checked_sub(record.len());
            start.is_some_and(|start| segment.logical.get(start..end) == Some(&record[..]))
        };
        assert!(is_written, "an unwritten record ends at {end}");
    }
}
