//! The chain of sections and the records in it, in every framing.

use commitlog_core::segment::{Fill, SegmentReader};

use crate::framing::Framing;
use crate::segment::{NAME, Segment, build, crc};

/// A record as it came out.
struct Found {
    end: u64,
    payload: Vec<u8>,
}

/// Every record that comes out was written and stands behind the one before it; whole records that
/// nothing odd precedes come out, of a live segment too; what is passed over never runs backwards;
/// who goes on from the end of a record gets the rest.
pub fn chain(input: &[u8]) {
    let segment = build(input);
    let Some(found) = read(&segment, 0, true) else {
        return;
    };
    check_certain(&segment, &found);
    for record in &found {
        check_written(&segment, record);
    }
    if let Some(live) = read(&segment, 0, false) {
        if !segment.starts_late {
            // Otherwise the first marker is one that is not there yet.
            check_certain(&segment, &live);
        }
        for record in &live {
            check_written(&segment, record);
        }
    }
    if let Some(middle) = found.get(found.len() / 2) {
        let rest = read(&segment, middle.end, true).unwrap_or_default();
        let ends = |records: &[Found]| records.iter().map(|each| each.end).collect::<Vec<_>>();
        let expected = found.get(found.len() / 2 + 1..).unwrap_or_default();
        assert!(
            ends(&rest) == ends(expected),
            "behind {} come {:?}, not {:?}",
            middle.end,
            ends(&rest),
            ends(expected)
        );
    }
}

/// All records behind `position`; `None` where the segment is refused.
fn read(segment: &Segment, position: u64, complete: bool) -> Option<Vec<Found>> {
    let keys = segment.framing.keys();
    let data = segment.data.clone();
    let limit = segment.data.len() + segment.logical.len() + 16;
    let mut reader = SegmentReader::open_with_keys(NAME, data, position, &keys).ok()?;
    let mut found = Vec::new();
    let mut last = 0;
    for step in 0.. {
        assert!(step <= limit, "reading does not come to an end");
        match reader.fill(None, complete) {
            Ok(Fill::End) | Err(_) => break,
            Ok(Fill::Gap(gap)) => {
                assert!(
                    gap.end.is_none_or(|end| gap.start <= end),
                    "a gap runs backwards"
                );
            }
            Ok(Fill::Records) => {
                for record in reader.records() {
                    assert!(record.end > last, "records run backwards");
                    last = record.end;
                    found.push(Found {
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
        let is_there = found.iter().any(|each| {
            each.payload == record.payload
                && (each.end == record.end || segment.framing != Framing::Plain)
        });
        assert!(is_there, "the record that ends at {} is lost", record.end);
    }
}

/// Whether the very bytes stand where the record says; anywhere in the log where damage may have
/// moved the positions behind it.
fn check_written(segment: &Segment, found: &Found) {
    let size = (found.payload.len() as u32).to_be_bytes();
    let sums = [crc(&[&size]), crc(&[&size, &found.payload])];
    let record = [&size[..], &sums[0], &found.payload, &sums[1]].concat();
    let end = found.end as usize;
    let is_written = if segment.is_damaged && segment.framing != Framing::Plain {
        let mut places = segment.logical.windows(record.len());
        places.any(|bytes| bytes == record)
    } else {
        let start = end.checked_sub(record.len());
        start.is_some_and(|start| segment.logical.get(start..end) == Some(&record[..]))
    };
    assert!(is_written, "a record of nowhere ends at {end}");
}
