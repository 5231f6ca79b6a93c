//! The chain of sections and the records in it, in plain segments.

use commitlog_core::descriptor::Version;
use commitlog_core::segment::{Fill, SegmentReader};

const ID: u64 = 1;
const NAME: &str = "CommitLog-7-1.log";

/// A segment as instructions say, so that checksums are good where they are meant to be.
///
/// | byte | what is written |
/// | --- | --- |
/// | 0 | a marker, which ends where the next one begins |
/// | 1, n | a whole record of n + 10 bytes of the input |
/// | 2, n | the same with a bad checksum behind it |
/// | 3, n | n bytes of the input as they are |
/// | 4, n | n zeros |
/// | 5, 4 bytes | a size with a good checksum |
#[derive(Default)]
struct Builder {
    data: Vec<u8>,
    /// Where the marker stands that has no end yet.
    open: Option<usize>,
    /// Ends of the records that nothing odd stands before.
    certain: Vec<u64>,
    is_odd: bool,
}

fn crc(parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_be_bytes()
}

impl Builder {
    fn header(&mut self, version: i32) {
        let id = (ID as u32).to_be_bytes();
        let version = version.to_be_bytes();
        self.data.extend_from_slice(&version);
        self.data.extend_from_slice(&ID.to_be_bytes());
        self.data.extend_from_slice(&[0, 2, b'{', b'}']);
        let parts: [&[u8]; 5] = [&version, &id, &[0; 4], &[0, 0, 0, 2], b"{}"];
        self.data.extend_from_slice(&crc(&parts));
    }

    fn close(&mut self) {
        let end = (self.data.len() as u32).to_be_bytes();
        if let Some(at) = self.open.take()
            && let Some(place) = self.data.get_mut(at..at + 4)
        {
            place.copy_from_slice(&end);
        }
    }

    fn marker(&mut self) {
        self.close();
        let at = self.data.len();
        let id = (ID as u32).to_be_bytes();
        let sum = crc(&[&id, &[0; 4], &(at as u32).to_be_bytes()]);
        self.data.extend_from_slice(&[0; 4]);
        self.data.extend_from_slice(&sum);
        self.open = Some(at);
    }

    fn record(&mut self, payload: &[u8], is_good: bool) {
        let size = (payload.len() as u32).to_be_bytes();
        self.data.extend_from_slice(&size);
        self.data.extend_from_slice(&crc(&[&size]));
        self.data.extend_from_slice(payload);
        let mut sum = crc(&[&size, payload]);
        if !is_good {
            sum = sum.map(|byte| !byte);
        }
        self.data.extend_from_slice(&sum);
        if is_good && self.open.is_some() && !self.is_odd {
            self.certain.push(self.data.len() as u64);
        }
    }
}

/// A segment with one record; a payload too short for one is filled up with zeros.
pub fn segment_of(version: Version, payload: &[u8]) -> Vec<u8> {
    let mut builder = Builder::default();
    builder.header(version.number());
    builder.marker();
    let mut payload = payload.to_vec();
    payload.resize(payload.len().max(10), 0);
    builder.record(&payload, true);
    builder.close();
    builder.data
}

fn build(mut input: &[u8]) -> Builder {
    let mut builder = Builder::default();
    builder.header(7);
    while let Some((op, rest)) = input.split_first() {
        input = rest;
        let mut take = |count: usize| {
            let (taken, left) = input.split_at(count.min(input.len()));
            input = left;
            taken
        };
        match op % 6 {
            0 => builder.marker(),
            1 | 2 => {
                let length = 10 + usize::from(take(1).first().copied().unwrap_or_default());
                let mut payload = take(length).to_vec();
                payload.resize(length, 0);
                builder.record(&payload, op % 6 == 1);
            }
            5 => {
                let size = take(4).to_vec();
                builder.is_odd = true;
                builder.data.extend_from_slice(&size);
                builder.data.extend_from_slice(&crc(&[&size]));
            }
            kind => {
                let length = usize::from(take(1).first().copied().unwrap_or_default());
                builder.is_odd = true;
                let raw = if kind == 3 {
                    take(length).to_vec()
                } else {
                    vec![0; length]
                };
                builder.data.extend_from_slice(&raw);
            }
        }
    }
    builder.close();
    builder
}

/// Every record that comes out has good checksums and stands behind the one before it; whole
/// records of a chain that nothing odd precedes come out; what is passed over never runs backwards.
pub fn chain(input: &[u8]) {
    let built = build(input);
    let data = built.data.clone();
    let Ok(mut reader) = SegmentReader::open(NAME, built.data, 0) else {
        return;
    };
    let mut ends = Vec::new();
    let mut last = 0;
    let limit = data.len() + 16;
    for step in 0.. {
        assert!(step <= limit, "reading does not come to an end");
        match reader.fill(None, true) {
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
                    let end = record.end as usize;
                    let start = end - 12 - record.payload.len();
                    let size = (record.payload.len() as u32).to_be_bytes();
                    let expected = [
                        &size[..],
                        &crc(&[&size]),
                        record.payload,
                        &crc(&[&size, record.payload]),
                    ]
                    .concat();
                    assert!(
                        data.get(start..end) == Some(&expected[..]),
                        "a record of nowhere"
                    );
                    ends.push(record.end);
                }
                reader.consume(last);
            }
        }
    }
    for end in built.certain {
        assert!(ends.contains(&end), "the record that ends at {end} is lost");
    }
}
