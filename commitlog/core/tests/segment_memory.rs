//! Sections and records that exceed the process's memory become gaps; other records are read.
use std::io::Write;

use commitlog_core::memory::MemoryLimit;
use commitlog_core::segment::{Gap, SegmentReader};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::segments::{NAME, lengths_read, record, segment};

const MIB: usize = 1 << 20;
/// Sections may use half of the limit.
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

/// Records and gaps of a segment whose sections have one record of these lengths each, read with a
/// limit. Without a compressor the segment is plain.
fn read(compressor: Option<&str>, sections: &[usize]) -> (Vec<usize>, Vec<Gap>) {
    let json = compressor.map_or("{}".to_owned(), |class| {
        format!(r#"{{"compressionClass":"{class}","compressionParameters":null}}"#)
    });
    let stored = sections.iter().map(|length| {
        let records = record(*length);
        compressor.map_or(records.clone(), |class| {
            [
                &(records.len() as u32).to_be_bytes()[..],
                &block(class, &records),
            ]
            .concat()
        })
    });
    let bytes = segment(&json, &stored.collect::<Vec<_>>());
    let mut reader = SegmentReader::open(NAME, bytes, 0).unwrap();
    reader.limit_memory(MemoryLimit {
        bytes: LIMIT,
        origin: "a test",
    });
    lengths_read(reader, true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn oversized_section_becomes_gap_with_limit(
        compressor in prop_oneof![
            Just(None), Just(Some("LZ4Compressor")), Just(Some("SnappyCompressor")),
            Just(Some("ZstdCompressor")), Just(Some("DeflateCompressor")), Just(Some("NoopCompressor")),
        ],
        sections in vec(prop_oneof![10_usize..2000, Just(MIB + MIB / 2), Just(3 * MIB)], 1..6),
    ) {
        let (lengths, gaps) = read(compressor, &sections);
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
