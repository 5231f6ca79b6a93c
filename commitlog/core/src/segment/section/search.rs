//! The search for the next record after damage in a section (format notes §2.7, §2.8).
//!
//! Records have no space between them, and the last one ends where its section does. So a position
//! after damage is the start of a record when sizes with good checksums lead from there to the very
//! end of the section. Bytes of a value that look like records do not: they lead nowhere.

use super::SectionDecoder;
use crate::record;
use crate::segment::Result;
use crate::source::Source;

/// Bytes that are searched at once.
const CHUNK_BYTES: usize = 64 << 10;

impl<S: Source> SectionDecoder<S> {
    /// The first position after `from` from which records lead to `end`, that of the section.
    pub fn find_record(&self, from: u64, end: u64) -> Result<Option<u64>> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let (mut start, mut read) = (0, 0);
        let mut at = from + 1;
        while at + record::HEADER as u64 <= end {
            // Candidates can be dense, so each chunk is read once.
            if at + record::HEADER as u64 > start + read as u64 {
                if self.is_plain() {
                    at = self.file.search_from(at, end)?;
                }
                start = at;
                read = self.read(at, &mut chunk)?;
            }
            let bytes = chunk.get((at - start) as usize..read).unwrap_or_default();
            let candidate = (at..)
                .zip(bytes.windows(record::HEADER))
                .find(|(position, header)| record::end(header, *position, end).is_some());
            let Some((position, _)) = candidate else {
                if read < record::HEADER {
                    break;
                }
                at = start + (read - record::HEADER + 1) as u64;
                continue;
            };
            let reached = self.follow(position, end)?;
            if reached == end {
                return Ok(Some(position));
            }
            // Every record start in between leads to the same position.
            at = reached + 1;
        }
        Ok(None)
    }

    /// The position that the records from `at` on lead to.
    fn follow(&self, mut at: u64, end: u64) -> Result<u64> {
        let mut header = [0; record::HEADER];
        while at < end {
            let read = self.read(at, &mut header)?;
            match record::end(header.get(..read).unwrap_or_default(), at, end) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(at)
    }

    /// Whether the header of a record at `position` is all zeros.
    pub fn has_zero_header(&self, position: u64) -> Result<bool> {
        let mut header = [0; record::HEADER];
        let read = self.read(position, &mut header)?;
        Ok(read == header.len() && header == [0; record::HEADER])
    }
}
