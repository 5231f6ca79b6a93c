//! Finding the way again behind damage in a section (format notes §2.7, §2.8).
//!
//! Records stand back to back, and the last one ends where its section does. So a place behind
//! damage is the start of a record when sizes with good checksums lead from there to the very end
//! of the section. Bytes of a value that look like records do not: what follows them leads nowhere.
//!
//! A plain section without a marker of its own is read as far as its records go. What is chained
//! ends at the next marker, or at the eight zeros that the node leaves for one when it syncs.

use crate::chain::Opened;
use crate::error::SegmentError;
use crate::marker::MARKER_LENGTH;
use crate::record::{self, OVERHEAD};
use crate::segment::{Gap, Section, SegmentReader};
use crate::source::{Source, io_error, read_fully};

/// Bytes that are looked at together.
const CHUNK_BYTES: usize = 64 << 10;

impl<S: Source> SegmentReader<S> {
    /// Whether records may be looked for behind the damage at the current position.
    ///
    /// Eight zeros can be the end of the chain with records behind it that were never synced. They
    /// are passed over only where a marker, or an index of the node, proves that the section ends
    /// later.
    pub(crate) fn may_go_on(&self, section: Section) -> Result<bool, SegmentError> {
        let mut header = [0; record::HEADER];
        let read = self.read_section(self.position, &mut header)?;
        let is_zero = read == header.len() && header == [0; record::HEADER];
        let is_synced = section.end <= self.expected_end;
        Ok(!self.is_plain() || !is_zero || is_synced || self.is_marker(section.end)?)
    }

    /// The first place behind `from` from which records lead to `end`, that of the section.
    pub(crate) fn find_record(&self, from: u64, end: u64) -> Result<Option<u64>, SegmentError> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = from + 1;
        while at + record::HEADER as u64 <= end {
            let read = self.read_section(at, &mut chunk)?;
            let bytes = chunk.get(..read).unwrap_or_default();
            let candidate = (at..)
                .zip(bytes.windows(record::HEADER))
                .find(|(place, header)| record_end(header, *place, end).is_some());
            let Some((place, _)) = candidate else {
                match read.checked_sub(record::HEADER - 1) {
                    Some(step) if step > 0 => at += step as u64,
                    _ => break,
                }
                continue;
            };
            let reached = self.follow(place, end)?;
            if reached == end {
                return Ok(Some(place));
            }
            // All places in between lead to the same one.
            at = reached + 1;
        }
        Ok(None)
    }

    /// Where records from `at` on lead.
    fn follow(&self, mut at: u64, end: u64) -> Result<u64, SegmentError> {
        let mut header = [0; record::HEADER];
        while at < end {
            let read = self.read_section(at, &mut header)?;
            match record_end(header.get(..read).unwrap_or_default(), at, end) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(at)
    }

    /// Bytes of the current section from a logical position on; gives their number.
    fn read_section(&self, at: u64, target: &mut [u8]) -> Result<usize, SegmentError> {
        if self.is_plain() {
            return read_fully(&self.source, at, target)
                .map_err(|error| io_error(&self.segment, error));
        }
        let from = at
            .checked_sub(self.buffer_start)
            .and_then(|from| usize::try_from(from).ok());
        let bytes = from
            .and_then(|from| self.buffer.get(from..self.buffer_length))
            .unwrap_or_default();
        let length = bytes.len().min(target.len());
        if let (Some(to), Some(from)) = (target.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }

    /// Whether a record seems to stand at a physical offset of a plain segment.
    pub(crate) fn is_record(&self, at: u64, length: u64) -> Result<bool, SegmentError> {
        let mut header = [0; record::HEADER];
        let read = read_fully(&self.source, at, &mut header)
            .map_err(|error| io_error(&self.segment, error))?;
        Ok(record_end(header.get(..read).unwrap_or_default(), at, length).is_some())
    }

    /// Opens a plain section at a place where no good marker stands, and reports it.
    pub(crate) fn open_unmarked(&mut self, length: u64) -> Result<Opened, SegmentError> {
        let at = self.marker_physical;
        if self.position > at {
            return self.open_at_position(length);
        }
        let next = self.find_marker(at + 1, length)?;
        let (gap, content) = if self.is_record(at, length)? {
            // What the node has not synced stands behind eight zeros, so this was synced.
            let cause = "a sync marker points to a place inside its section; it is read on";
            let before = self.section_marker;
            (Gap::new(before, Some(before + MARKER_LENGTH), cause), at)
        } else {
            let is_synced = (at + MARKER_LENGTH + 1..=length).contains(&self.expected_end);
            if next.is_none() && !is_synced {
                // Records may stand here that the node never synced.
                return Ok(self.give_up("a sync marker is damaged"));
            }
            let cause = "a sync marker is damaged; its records are read";
            let content = (at + MARKER_LENGTH).min(next.unwrap_or(length));
            (Gap::new(at, Some(content), cause), content)
        };
        self.open_plain(at, content, next, length);
        if next.is_none() {
            self.end_where_expected();
        }
        Ok(Opened::Gap(gap))
    }

    /// Ends a section without a next marker where an index of the node says that it was synced.
    fn end_where_expected(&mut self) {
        let end = self.expected_end;
        if let Some(section) = &mut self.section
            && end > section.marker + MARKER_LENGTH
        {
            section.end = end;
            section.end_physical = end;
            section.is_open_ended = false;
            self.marker_physical = end;
            self.marker_logical = end;
        }
    }

    /// Opens a plain section at the position that the reader was opened at, where the chain breaks
    /// off before it: reading up to there had found its way.
    pub(crate) fn open_at_position(&mut self, length: u64) -> Result<Opened, SegmentError> {
        let at = self.marker_physical;
        let cause = "a sync marker points to a wrong place; what was not read yet is read";
        let next = self.find_marker(self.position, length)?;
        self.open_plain(at, self.position, next, length);
        Ok(Opened::Gap(Gap::new(at, Some(at + MARKER_LENGTH), cause)))
    }

    /// A plain section from `content` to the next marker or, without one, to where none was set.
    pub(crate) fn open_plain(&mut self, marker: u64, content: u64, next: Option<u64>, length: u64) {
        let end = next.unwrap_or(length);
        self.marker_physical = end;
        self.marker_logical = end;
        self.section_marker = marker;
        self.position = self.position.max(content);
        self.buffer_start = content;
        self.buffer_length = 0;
        self.section = Some(Section {
            marker,
            marker_physical: marker,
            end_physical: end,
            end,
            claimed_end: None,
            end_is_searched: true,
            is_open_ended: next.is_none(),
        });
    }
}

/// The end of the record whose first bytes are `header`, if its size is sound.
fn record_end(header: &[u8], at: u64, section_end: u64) -> Option<u64> {
    let size = record::size(header)?;
    let end = at + u64::from(size) + OVERHEAD as u64;
    (end <= section_end).then_some(end)
}
