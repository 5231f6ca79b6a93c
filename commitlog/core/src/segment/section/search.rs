//! Searches for the next record after damage in a section (format notes §2.7, §2.8).
//!
//! Records have no space between them, and the last record ends with its section. So a position
//! after damage is the start of a record if sizes with valid checksums lead from there to the exact
//! end of the section. Bytes of a value that look like records do not lead there.

use super::SectionDecoder;
use crate::record;
use crate::segment::Result;
use crate::source::Source;

/// Bytes of each read in a search.
const CHUNK_BYTES: usize = 64 << 10;

impl<S: Source> SectionDecoder<S> {
    /// Finds the first position after `damaged` from which records lead to the section's `end`.
    pub fn find_record(&self, damaged: u64, end: u64) -> Result<Option<u64>> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let (mut start, mut read) = (0, 0);
        let mut next = damaged + 1;
        while next + record::HEADER as u64 <= end {
            // Candidates can be dense, so each chunk is read once.
            if next + record::HEADER as u64 > start + read as u64 {
                if self.is_plain() {
                    next = self.file.search_from(next, end)?;
                }
                start = next;
                read = self.read(next, &mut chunk)?;
            }
            let bytes = chunk.get((next - start) as usize..read).unwrap_or_default();
            let candidate = (next..)
                .zip(bytes.windows(record::HEADER))
                .find(|(start, header)| record::end(header, *start, end).is_some());
            let Some((record, _)) = candidate else {
                if read < record::HEADER {
                    break;
                }
                next = start + (read - record::HEADER + 1) as u64;
                continue;
            };
            let reached = self.follow(record, end)?;
            if reached == end {
                return Ok(Some(record));
            }
            // Every record that starts in between leads to the same position.
            next = reached + 1;
        }
        Ok(None)
    }

    /// Returns the position to which the records from `position` lead.
    fn follow(&self, mut position: u64, end: u64) -> Result<u64> {
        let mut header = [0; record::HEADER];
        while position < end {
            let read = self.read(position, &mut header)?;
            match record::end(header.get(..read).unwrap_or_default(), position, end) {
                Some(next) => position = next,
                None => break,
            }
        }
        Ok(position)
    }

    /// Whether the header of a record at `position` is all zeros.
    pub fn has_zero_header(&self, position: u64) -> Result<bool> {
        let mut header = [0; record::HEADER];
        let read = self.read(position, &mut header)?;
        Ok(read == header.len() && header == [0; record::HEADER])
    }
}
