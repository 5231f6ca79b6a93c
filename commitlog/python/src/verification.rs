//! The Python class `Verification`: the progress of a segment check.

use commitlog_core::segment::SegmentReader;
use commitlog_core::source::Source;
use commitlog_core::verify;
use pyo3::prelude::*;

use crate::batch::Gap;

/// The results of a segment check so far.
#[pyclass(frozen, get_all, module = "commitlog")]
pub struct Verification {
    done: bool,
    position: u64,
    sections: u64,
    records: u64,
    payload_bytes: u64,
    unwritten_bytes: u64,
    gaps: Vec<Gap>,
    tail_bytes: u64,
    tail_written_bytes: u64,
}

impl Verification {
    pub fn new<S: Source>(segment: &SegmentReader<S>, seen: &verify::Verification) -> Self {
        let tail = seen.tail.unwrap_or_default();
        Self {
            done: seen.tail.is_some(),
            position: segment.position(),
            sections: seen.sections,
            records: seen.records,
            payload_bytes: seen.payload_bytes,
            unwritten_bytes: seen.unwritten_bytes,
            gaps: seen
                .gaps
                .iter()
                .map(|gap| Gap::new(segment.segment(), gap))
                .collect(),
            tail_bytes: tail.bytes,
            tail_written_bytes: tail.written_bytes,
        }
    }
}
