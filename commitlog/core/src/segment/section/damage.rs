//! Finds the trustworthy records of a damaged block section.
//!
//! No checksum covers a block. Most damage breaks the block or its records, but it can also make a
//! decompressor copy whole records within the section, with valid checksums. So a damaged block is
//! inspected completely before any record is returned, and repeated records are skipped. If a
//! record was written twice, its first copy has the same content.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::SectionDecoder;
use crate::record::{Found, OVERHEAD, Records, inspect};
use crate::segment::Result;
use crate::segment::gap::Gap;
use crate::source::Source;

const REPEATED: &str = "a block is damaged: a record repeats an earlier one";
const BAD_RECORD: &str = "the checksum of a record does not match";
const BROKEN: &str = "the checksum of a record's size does not match";

impl<S: Source> SectionDecoder<S> {
    /// Returns the ranges of the decoded block in the buffer that must not be read; none if it is
    /// intact. `failure` is the reason if decoding stopped early: then nothing after the first
    /// doubtful record is read.
    pub(super) fn block_gaps(&self, end: u64, failure: Option<&str>) -> Result<VecDeque<Gap>> {
        let content = self.start;
        let bytes = self.buffer.get(..self.length).unwrap_or_default();
        let whole = Records::new(bytes, content, end - content).last();
        let mut gaps = VecDeque::new();
        if failure.is_none() && whole.map_or(content, |record| record.end) == end {
            return Ok(gaps);
        }
        let mut seen = FxHashSet::default();
        let mut start = content;
        while start < end {
            let rest = bytes.get((start - content) as usize..).unwrap_or_default();
            let (next, cause) = match inspect(rest, end - start) {
                Found::Record(payload) => {
                    let next = start + (payload.len() + OVERHEAD) as u64;
                    let is_new = seen.insert(payload);
                    (next, (!is_new).then_some(REPEATED))
                }
                Found::BadPayloadCrc(payload) => {
                    let next = start + (payload.len() + OVERHEAD) as u64;
                    (next, Some(BAD_RECORD))
                }
                Found::Zero if failure.is_none() && rest.iter().all(|byte| *byte == 0) => break,
                _ if failure.is_some() => (end, Some(BROKEN)),
                _ => (self.find_record(start, end)?.unwrap_or(end), Some(BROKEN)),
            };
            match (cause, failure) {
                (None, _) => {}
                (Some(_), Some(failure)) => {
                    gaps.push_back(Gap::new(start, Some(end), failure));
                    break;
                }
                (Some(cause), None) => gaps.push_back(Gap::new(start, Some(next), cause)),
            }
            start = next;
        }
        if gaps.is_empty()
            && let Some(failure) = failure
        {
            gaps.push_back(Gap::new(end, Some(end), failure));
        }
        Ok(gaps)
    }
}
