//! Records of every size are read whole, wherever they lie in a chunk.
use commitlog_core::segment::SegmentReader;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::segments::{NAME, lengths_read, record, segment};

/// Reads a segment whose sections have payloads of these lengths.
fn check(sections: &[Vec<usize>]) {
    let stored = sections
        .iter()
        .map(|lengths| lengths.iter().copied().flat_map(record).collect());
    let mut bytes = segment("{}", &stored.collect::<Vec<_>>());
    bytes.extend([0; 64]);
    for complete in [false, true] {
        let reader = SegmentReader::open(NAME, bytes.clone(), 0).unwrap();
        let (lengths, gaps) = lengths_read(reader, complete);
        assert_eq!((lengths, gaps), (sections.concat(), vec![]));
    }
}

#[test]
fn large_record_at_start_of_section_is_read() {
    check(&[vec![100], vec![2 << 20], vec![7 << 20, 10], vec![10]]);
}

#[test]
fn large_record_across_chunk_end_is_read() {
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
