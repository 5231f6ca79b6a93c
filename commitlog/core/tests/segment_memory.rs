//! Sections and records that do not fit the memory of the process are gaps; the others are read.
use std::io::Write;

use commitlog_core::memory::MemoryLimit;
use commitlog_core::segment::{Fill, Gap, SegmentReader};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::segment_chunks::{crc, record};

const ID: i64 = 7;
const MIB: usize = 1 << 20;
/// Sections may have half of it.
const LIMIT: u64 = 2 * MIB as u64;

fn block(compressor: &str, records: &[u8]) -> Vec<u8> {
    match compressor {
        "LZ4Compressor" => lz4_flex::block::compress_prepend_size(records),
        "SnappyCompressor" => snap::raw::Encoder::new().compress_vec(records).unwrap(),
        "ZstdCompressor" => zstd::bulk::compress(records, 1).unwrap(),
        "DeflateCompressor" => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(records).unwrap();
            encoder.finish().unwrap()
        }
        _ => records.to_vec(),
    }
}

/// A segment whose sections have one record of these lengths each; `None` for a plain one.
fn segment(compressor: Option<&str>, sections: &[usize]) -> Vec<u8> {
    let json = compressor.map_or("{}".to_owned(), |class| {
        format!(r#"{{"compressionClass":"{class}","compressionParameters":null}}"#)
    });
    let (version, length) = (7_i32.to_be_bytes(), (json.len() as u32).to_be_bytes());
    let id = ID.to_be_bytes();
    let (high, low) = id.split_at(4);
    let mut bytes = [&version[..], &id, &length[2..], json.as_bytes()].concat();
    bytes.extend(crc(&[&version, low, high, &length, json.as_bytes()]));
    for length in sections {
        let marker = bytes.len();
        let records = record(*length);
        bytes.extend([0; 8]);
        match compressor {
            None => bytes.extend(records),
            Some(class) => {
                bytes.extend((records.len() as u32).to_be_bytes());
                bytes.extend(block(class, &records));
            }
        }
        let end = (bytes.len() as u32).to_be_bytes();
        let place = crc(&[low, high, &(marker as u32).to_be_bytes()]);
        bytes[marker..marker + 8].copy_from_slice(&[end, place].concat());
    }
    bytes
}

/// The lengths of the records that are read with a limit, and the gaps.
fn read(bytes: Vec<u8>) -> (Vec<usize>, Vec<Gap>) {
    let mut segment = SegmentReader::open("CommitLog-7-7.log", bytes, 0).unwrap();
    segment.limit_memory(MemoryLimit {
        bytes: LIMIT,
        origin: "a test",
    });
    let (mut lengths, mut gaps) = (Vec::new(), Vec::new());
    loop {
        match segment.fill(None, true).unwrap() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_exceeds_the_memory_is_a_gap_that_names_the_limit(
        compressor in prop_oneof![
            Just(None), Just(Some("LZ4Compressor")), Just(Some("SnappyCompressor")),
            Just(Some("ZstdCompressor")), Just(Some("DeflateCompressor")), Just(Some("NoopCompressor")),
        ],
        sections in vec(prop_oneof![10_usize..2000, Just(MIB + MIB / 2), Just(3 * MIB)], 1..6),
    ) {
        let (lengths, gaps) = read(segment(compressor, &sections));
        let (fit, exceed): (Vec<usize>, Vec<usize>) =
            sections.iter().partition(|length| **length < MIB);
        prop_assert_eq!(lengths, fit);
        prop_assert_eq!(gaps.len(), exceed.len(), "{:?}", gaps);
        for gap in gaps {
            prop_assert!(gap.cause.contains("memory limit of 2 MiB (a test)"), "{}", gap.cause);
            prop_assert!(gap.cause.contains("Raise the limit to "), "{}", gap.cause);
        }
    }
}
