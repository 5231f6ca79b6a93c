//! Segments of version 7, written for tests of their reader.

use commitlog_core::segment::{Fill, Gap, SegmentReader};

pub const NAME: &str = "CommitLog-7-7.log";
const ID: i64 = 7;

fn crc(parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_be_bytes()
}

pub fn marker(offset: usize, end: usize) -> Vec<u8> {
    let id = ID.to_be_bytes();
    let (high, low) = id.split_at(4);
    let place = crc(&[low, high, &(offset as u32).to_be_bytes()]);
    [(end as u32).to_be_bytes(), place].concat()
}

/// A record with a payload of this length.
pub fn record(length: usize) -> Vec<u8> {
    let size = (length as u32).to_be_bytes();
    let payload = vec![length as u8; length];
    let checksums = [crc(&[&size]), crc(&[&size, &payload])];
    [&size[..], &checksums[0], &payload, &checksums[1]].concat()
}

/// A header with these parameters, and the stored sections.
pub fn segment(json: &str, sections: &[Vec<u8>]) -> Vec<u8> {
    let json = json.as_bytes();
    let (version, length) = (7_i32.to_be_bytes(), (json.len() as u32).to_be_bytes());
    let id = ID.to_be_bytes();
    let (high, low) = id.split_at(4);
    let mut bytes = [&version[..], &id, &length[2..], json].concat();
    bytes.extend(crc(&[&version, low, high, &length, json]));
    for section in sections {
        let start = bytes.len();
        bytes.extend(marker(start, start + 8 + section.len()));
        bytes.extend(section);
    }
    bytes
}

/// The lengths of the records that are read, and the gaps.
pub fn lengths_read(mut segment: SegmentReader<Vec<u8>>, complete: bool) -> (Vec<usize>, Vec<Gap>) {
    let (mut lengths, mut gaps) = (Vec::new(), Vec::new());
    loop {
        match segment.fill(None, complete).unwrap() {
            Fill::End => return (lengths, gaps),
            Fill::Gap(gap) => gaps.push(gap),
            Fill::Records => {
                let mut end = segment.position();
                for record in segment.records() {
                    lengths.push(record.payload.len());
                    end = record.end;
                }
                segment.consume(end);
            }
        }
    }
}
