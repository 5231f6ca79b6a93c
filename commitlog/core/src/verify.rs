//! Verifies a segment: every checksum of the header, markers, record sizes and payloads, and every
//! compressed or encrypted block. Payloads are not decoded, so no schema is needed.

use crate::segment::{Gap, Result, SegmentReader, Step, Tail};
use crate::source::Source;

/// The results of a verification so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    pub sections: u64,
    pub records: u64,
    /// Bytes of all payloads.
    pub payload_bytes: u64,
    /// Zeros inside sections: space that was allocated for records but never written.
    pub unwritten_bytes: u64,
    pub gaps: Vec<Gap>,
    /// The bytes after the chain; known once the end is reached.
    pub tail: Option<Tail>,
    /// File offset of the latest section's marker.
    last_marker: Option<u64>,
}

impl Verification {
    /// Verifies about `max_bytes` from the segment's position. `limit` and `complete` are as in
    /// [`SegmentReader::fill`]. At the end, it sets [`Self::tail`].
    pub fn advance<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        limit: Option<u64>,
        complete: bool,
        max_bytes: u64,
    ) -> Result<()> {
        let stop = segment.position().saturating_add(max_bytes);
        while self.tail.is_none() && segment.position() < stop {
            let step = segment.step(limit, complete)?;
            let marker = segment.section().map(|section| section.marker_physical);
            if marker.is_some() && marker != self.last_marker {
                self.last_marker = marker;
                self.sections += 1;
            }
            match step {
                Step::Records => {
                    let mut end = segment.position();
                    for record in segment.records() {
                        end = record.end;
                        self.records += 1;
                        self.payload_bytes += record.payload.len() as u64;
                    }
                    segment.consume(end);
                }
                Step::Gap(gap) | Step::BadRecord(gap) => self.gaps.push(gap),
                Step::SectionEnd { unwritten } => self.unwritten_bytes += unwritten,
                Step::Section | Step::Skipped => {}
                Step::End => self.tail = Some(segment.tail()?),
            }
        }
        Ok(())
    }
}
