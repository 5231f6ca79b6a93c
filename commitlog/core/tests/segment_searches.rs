//! Searches read each byte once and skip holes, for any file length.

use std::cell::Cell;
use std::io;

use commitlog_core::error::SegmentError;
use commitlog_core::segment::{SegmentReader, Step};
use commitlog_core::source::{InterruptibleFile, Interruption, Source};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::segments::{NAME, marker, record, segment};

const MAX_BYTES: u64 = i32::MAX as u64;
/// Bytes of the largest chunk of a search.
const CHUNK_BYTES: u64 = 256 << 10;

/// A header and one section with these records.
fn section(records: &[u8]) -> Vec<u8> {
    segment("{}", &[records.to_vec()])
}

/// A sparse file that counts the bytes read from it.
struct Sparse {
    islands: Vec<(u64, Vec<u8>)>,
    length: u64,
    knows_holes: bool,
    read_bytes: Cell<u64>,
}

impl Sparse {
    fn new(islands: Vec<(u64, Vec<u8>)>, length: u64) -> Self {
        let read_bytes = Cell::new(0);
        Self {
            islands,
            length,
            knows_holes: true,
            read_bytes,
        }
    }
}

impl Source for &Sparse {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
        buffer[..length].fill(0);
        for (start, bytes) in &self.islands {
            let (first, last) = (
                (*start).max(offset),
                (start + bytes.len() as u64).min(offset + length as u64),
            );
            if first < last {
                buffer[(first - offset) as usize..(last - offset) as usize]
                    .copy_from_slice(&bytes[(first - start) as usize..(last - start) as usize]);
            }
        }
        self.read_bytes.set(self.read_bytes.get() + length as u64);
        Ok(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn skip_hole(&self, offset: u64) -> io::Result<Option<u64>> {
        if !self.knows_holes {
            return Ok(Some(offset));
        }
        let ends = self.islands.iter();
        Ok(ends
            .filter(|(start, bytes)| start + bytes.len() as u64 > offset)
            .map(|(start, _)| (*start).max(offset))
            .min())
    }
}

/// All reports of a reader about a final file whose index states `expected_end`.
fn steps(source: &Sparse, expected_end: u64) -> Vec<String> {
    let mut segment = SegmentReader::open(NAME, source, 0).unwrap();
    segment.expect_end(expected_end);
    let mut found = Vec::new();
    loop {
        let step = segment.step(None, true).unwrap();
        if step == Step::Records {
            let end = segment.records().last().unwrap().end;
            segment.consume(end);
        }
        found.push(format!("{step:?} {}", segment.position()));
        if step == Step::End {
            return found;
        }
    }
}

#[test]
fn hole_of_any_length_is_not_read() {
    for length in [1 << 20, 1 << 30, MAX_BYTES] {
        let file = Sparse::new(vec![(0, section(&record(100)))], length);
        let found = steps(&file, length - 100);
        assert!(found.len() < 10, "{found:?}");
        assert!(file.read_bytes.get() < 8 * CHUNK_BYTES, "{length}");
    }
}

#[test]
fn file_beyond_largest_position_is_not_a_segment() {
    for length in [MAX_BYTES + 1, 1 << 40] {
        let file = Sparse::new(vec![(0, section(&record(100)))], length);
        let Err(SegmentError::Foreign { reason, .. }) = SegmentReader::open(NAME, &file, 0) else {
            panic!("{length} bytes were opened");
        };
        assert!(reason.contains(&length.to_string()), "{reason}");
        assert!(file.read_bytes.get() == 0);
    }
}

#[test]
fn header_with_another_id_is_foreign() {
    let bytes = section(&record(100));
    assert!(SegmentReader::open("any name", bytes.clone(), 0).is_ok());
    let error = SegmentReader::open("CommitLog-7-8.log", bytes, 0).err();
    assert!(matches!(error, Some(SegmentError::Foreign { .. })));
}

#[test]
fn dead_end_candidates_are_read_once() {
    // No record can start with the byte after each record, so no candidate leads to the end.
    let mut records = vec![0xff; 9];
    while records.len() < 1 << 20 {
        records.extend(record(10));
        records.push(0xff);
    }
    let bytes = section(&records);
    let length = bytes.len() as u64;
    let file = Sparse::new(vec![(0, bytes)], length);
    steps(&file, length);
    assert!(
        file.read_bytes.get() < 8 * length,
        "{}",
        file.read_bytes.get()
    );
}

#[test]
fn interruption_ends_reads_of_file() {
    let path = std::env::temp_dir().join(format!("segment-searches-{}", std::process::id()));
    std::fs::write(&path, section(&record(100))).unwrap();
    let interruption = Interruption::default();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let file = InterruptibleFile::new(file, interruption.clone());
    let mut segment = SegmentReader::open(NAME, file, 0).unwrap();
    assert!(segment.fingerprint().is_ok());
    interruption.interrupt();
    assert!(segment.step(None, true).is_err());
    assert!(segment.fingerprint().is_err());
}

fn island() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 1..40),
        vec(prop_oneof![Just(0_u8), any::<u8>()], 1..40),
        (10_usize..60).prop_map(record),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn holes_change_only_bytes_read(
        records in vec(10_usize..80, 0..4),
        tail in vec(any::<u8>(), 0..12),
        islands in vec((0_u64..2 << 20, island(), any::<bool>()), 0..5),
        length in 1_u64 << 20..2 << 20,
        expected in 0_u64..2 << 20,
    ) {
        let mut start: Vec<u8> = records.into_iter().flat_map(record).collect();
        start.extend(tail);
        let mut all = vec![(0, section(&start))];
        for (offset, bytes, is_marker) in islands {
            let offset = offset.max(1 << 12).min(length - 64);
            let bytes = if is_marker { marker(offset as usize, length as usize) } else { bytes };
            all.push((offset, bytes));
        }
        let mut file = Sparse::new(all, length);
        let skipping = steps(&file, expected);
        let read = file.read_bytes.replace(0);
        file.knows_holes = false;
        prop_assert_eq!(skipping, steps(&file, expected));
        prop_assert!(read <= file.read_bytes.get() + CHUNK_BYTES);
    }
}
