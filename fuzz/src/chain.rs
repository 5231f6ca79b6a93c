//! The chain of sections and the records in it, in every framing.

use commitlog_core::segment::{Fill, Gap, SegmentReader};

use crate::framing::Framing;
use crate::segment::{NAME, Segment, build, crc};

/// A record as it came out.
struct Found {
    end: u64,
    payload: Vec<u8>,
}

/// Everything that a reader returns.
#[derive(Default)]
struct Reading {
    records: Vec<Found>,
    gaps: Vec<Gap>,
}

/// Every record that is read was written and follows the one before it; whole records that
/// nothing odd precedes come out, of a live segment too; what is passed over never runs backwards;
/// a reader that resumes at the end of a record gets the rest, or of a damaged segment a gap.
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
            // Otherwise the first marker is one that is not there yet.
            check_certain(&segment, &live.records);
        }
    }
    let (read_before, expected) = whole.records.split_at(whole.records.len().div_ceil(2));
    if let Some(last) = read_before.last() {
        let rest = read(&segment, last.end, true).unwrap_or_default();
        check_written(&segment, &rest.records);
        // A segment with reported damage is kept as a whole.
        let is_told = segment.is_damaged && !rest.gaps.is_empty();
        for record in expected {
            let end = record.end;
            assert!(
                is_told || rest.records.iter().any(|found| found.end == end),
                "behind {} the record that ends at {end} is lost, gaps {:?}",
                last.end,
                rest.gaps
            );
        }
    }
}

/// Everything after `position`; `None` if the segment is rejected.
fn read(segment: &Segment, position: u64, complete: bool) -> Option<Reading> {
    let keys = segment.framing.keys();
    let data = segment.data.clone();
    let limit = segment.data.len() + segment.logical.len() + 16;
    let mut reader = SegmentReader::open_with_keys(NAME, data, position, &keys).ok()?;
    let mut found = Reading::default();
    let mut last = position;
    for step in 0.. {
        assert!(step <= limit, "reading does not come to an end");
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

/// In a block that is wrong elsewhere a record that repeats another is left out, since damage can
/// make such ones.
fn check_certain(segment: &Segment, found: &[Found]) {
    for record in &segment.certain {
        let is_there = found.iter().any(|candidate| {
            candidate.payload == record.payload
                && (candidate.end == record.end || segment.framing != Framing::Plain)
        });
        assert!(is_there, "the record that ends at {} is lost", record.end);
    }
}

/// The very bytes of each stand where it says; anywhere in the log where damage may have moved the
/// positions behind it.
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
        assert!(is_written, "a record of nowhere ends at {end}");
    }
}
