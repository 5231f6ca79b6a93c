//! Records of every size are read whole, wherever they lie in what is read at once.
use commitlog_core::segment::{Fill, SegmentReader};
use proptest::collection::vec;
use proptest::prelude::*;

const ID: i64 = 7;

pub fn crc(parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_be_bytes()
}

/// A record with a payload of this length.
pub fn record(length: usize) -> Vec<u8> {
    let size = (length as u32).to_be_bytes();
    let payload = vec![length as u8; length];
    let checksums = [crc(&[&size]), crc(&[&size, &payload])];
    [&size[..], &checksums[0], &payload, &checksums[1]].concat()
}

/// A plain segment of version 7 whose sections have payloads of these lengths.
fn segment(sections: &[Vec<usize>]) -> Vec<u8> {
    let json = b"{}";
    let (version, length) = (7_i32.to_be_bytes(), (json.len() as u32).to_be_bytes());
    let id = ID.to_be_bytes();
    let (high, low) = id.split_at(4);
    let mut bytes = [&version[..], &id, &length[2..], json].concat();
    bytes.extend(crc(&[&version, low, high, &length, json]));
    for section in sections {
        let marker = bytes.len();
        bytes.extend([0; 8]);
        for length in section {
            bytes.extend(record(*length));
        }
        let end = (bytes.len() as u32).to_be_bytes();
        let place = crc(&[low, high, &(marker as u32).to_be_bytes()]);
        bytes[marker..marker + 8].copy_from_slice(&[end, place].concat());
    }
    bytes.extend([0; 64]);
    bytes
}

fn lengths_read(bytes: Vec<u8>, complete: bool) -> Vec<usize> {
    let mut segment = SegmentReader::open("CommitLog-7-7.log", bytes, 0).unwrap();
    let mut lengths = Vec::new();
    loop {
        match segment.fill(None, complete).unwrap() {
            Fill::End => return lengths,
            Fill::Gap(gap) => panic!("{gap:?}"),
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

fn check(sections: &[Vec<usize>]) {
    for complete in [false, true] {
        assert_eq!(lengths_read(segment(sections), complete), sections.concat());
    }
}

#[test]
fn a_large_record_stands_first_in_its_section() {
    check(&[vec![100], vec![2 << 20], vec![7 << 20, 10], vec![10]]);
}

#[test]
fn a_large_record_begins_at_the_end_of_what_is_read() {
    for before in (256 << 10) - 40..(256 << 10) + 8 {
        check(&[vec![before - 12, 300 << 10, 20]]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_of_any_size_are_read(
        sections in vec(vec(prop_oneof![10_usize..200, 10_usize..600_000], 0..6), 0..5),
    ) {
        check(&sections);
    }
}
