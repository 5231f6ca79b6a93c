//! The chain of sync markers: finds the next section and recovers where the chain is broken (format
//! notes §2.1, §2.2, §2.7).
//!
//! A marker's checksum covers its own offset, not the offset that it points to. So the chain does
//! not trust an end that leads to no marker: it searches for the next marker by its checksum.

mod recovery;

use super::file::{SegmentFile, Tail};
use super::gap::Gap;
use super::marker::{MARKER_LENGTH, Marker};
use super::section::SectionDecoder;
use crate::framing::{BLOCK_HEADER_LENGTH, CHUNK_HEADER_LENGTH};
use crate::segment::Result;
use crate::source::Source;

/// The offset of the next marker once nothing is left to read.
const NOWHERE: u64 = u64::MAX - MARKER_LENGTH;

/// One section of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Logical position of its marker.
    pub marker: u64,
    /// Physical offset of its marker, and of the end of its bytes in the file.
    pub marker_physical: u64,
    pub end_physical: u64,
    /// Logical position at which reading starts.
    pub(super) start: u64,
    /// Logical end of its bytes in the file.
    pub end: u64,
    /// Logical end according to its marker, if the file ends before it.
    pub claimed_end: Option<u64>,
    /// Whether the end is the result of a search for the next marker.
    pub end_is_searched: bool,
    /// Whether no marker follows: the chain ends at eight zeros, the node's space for a marker.
    pub is_open_ended: bool,
}

/// The result of following the next marker.
pub(super) enum Opened {
    Section,
    /// The section ends before the position of the reader.
    Skipped,
    Gap(Gap),
    End,
}

/// How far to follow a chain, as for [`super::SegmentReader::step`].
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Everything before this logical position is consumed.
    pub position: u64,
    pub limit: Option<u64>,
    pub is_complete: bool,
}

/// Follows the markers of a segment from section to section.
///
/// Invariant: the offset and position of the next marker follow the current section, or the
/// previous section while none is open. They move only when a section is opened or abandoned, so a
/// failed read can be repeated.
pub(super) struct Chain<S> {
    decoder: SectionDecoder<S>,
    /// Physical offset and logical position of the next marker.
    marker_physical: u64,
    marker_logical: u64,
    section: Option<Section>,
    /// Logical position of the latest section's marker.
    section_marker: u64,
    expected_end: u64,
    completed_at: u64,
}

impl<S: Source> Chain<S> {
    pub fn new(decoder: SectionDecoder<S>) -> Self {
        let first = decoder.file().descriptor().length;
        Self {
            decoder,
            marker_physical: first,
            marker_logical: first,
            section: None,
            section_marker: first,
            expected_end: 0,
            completed_at: 0,
        }
    }

    /// See [`super::SegmentReader::expect_end`].
    pub fn expect_end(&mut self, end: u64) {
        self.expected_end = self.expected_end.max(end);
    }

    /// See [`super::SegmentReader::expect_completed`].
    pub fn expect_completed(&mut self, number: u64) {
        self.completed_at = number;
    }

    /// Returns the section that is being read.
    pub fn section(&self) -> Option<Section> {
        self.section
    }

    pub fn decoder(&self) -> &SectionDecoder<S> {
        &self.decoder
    }

    pub fn decoder_mut(&mut self) -> &mut SectionDecoder<S> {
        &mut self.decoder
    }

    fn file(&self) -> &SegmentFile<S> {
        self.decoder.file()
    }

    /// Returns the bytes after the last section.
    pub fn tail(&self) -> Result<Tail> {
        self.file().tail(self.marker_physical)
    }

    /// Closes a section that was read to its end.
    pub fn close_section(&mut self) {
        self.section = None;
    }

    /// Closes a section without a known end at `position`, where the node left space for a marker.
    pub fn close_section_at(&mut self, position: u64) {
        self.marker_physical = position;
        self.marker_logical = position;
        self.section = None;
    }

    /// Ends the chain, so that nothing is left to read.
    pub fn end(&mut self) {
        self.section = None;
        self.marker_physical = NOWHERE;
    }

    /// Skips a damaged range of the current block section.
    pub fn pass_gap(&mut self) -> Option<Gap> {
        let (gap, end) = self.decoder.pass_gap(self.marker_logical)?;
        if let Some(section) = &mut self.section {
            section.end = end;
        }
        Some(gap)
    }

    /// Returns the logical position up to which the node synced a section that ends in zeros. The
    /// node writes a marker after all records before it, and completes a segment with the last
    /// marker (§7.3).
    pub fn synced_end(&self, section: Section) -> u64 {
        match self.completed_at {
            0 => section.end.min(self.expected_end),
            _ => section.end,
        }
    }

    /// Opens the section after the next marker.
    pub fn open_next(&mut self, reach: Reach) -> Result<Opened> {
        let length = self.file().length()?;
        let offset = self.marker_physical;
        if offset + MARKER_LENGTH > length {
            return self.end_of_chain(reach, length);
        }
        let marker = self.file().marker(offset)?;
        if marker.is_zero() {
            return if reach.is_complete && self.is_plain() && reach.position > offset {
                self.open_at_position(reach, length)
            } else {
                self.end_of_chain(reach, length)
            };
        }
        let is_good = self.file().is_good(offset, &marker);
        if !reach.is_complete {
            // In a live file, a torn marker is not completely written yet.
            return if is_good && marker.is_plausible(offset, length) {
                self.open_chained(marker.end, reach, length)
            } else {
                Ok(Opened::End)
            };
        }
        let is_inside = reach.position > offset + MARKER_LENGTH && reach.position < marker.end;
        if is_good
            && is_inside
            && self.is_plain()
            && !self.file().is_marker(marker.end)?
            && self.file().find_marker(reach.position, length)?.is_some()
        {
            // Records reveal a wrong end only at the correct end, and the position may be past it.
            return self.open_at_position(reach, length);
        }
        let leads_on =
            marker.is_plausible(offset, length) && self.is_marker_or_end(marker.end, length)?;
        if !is_good && self.is_plain() && self.file().is_record(offset, length)? {
            return self.open_unmarked(reach, length);
        }
        match (is_good, leads_on) {
            (true, true) => self.open_chained(marker.end, reach, length),
            (true, false) => self.open_doubtful(marker, reach, length),
            // The two words of a marker are not stored at once, so a node may have died between
            // them (CASSANDRA-16842). The records have separate checksums.
            (false, true) if marker.crc == 0 => self.open_chained(marker.end, reach, length),
            (false, true) => {
                let cause = "the checksum of a sync marker does not match; its records are read";
                self.open_damaged(marker.end, reach, length, cause)
            }
            (false, false) if self.is_plain() => self.open_unmarked(reach, length),
            // If logical and physical positions differ, later positions are unknown.
            (false, false) => Ok(self.abandon("a sync marker is damaged")),
        }
    }

    /// Handles a missing marker: the end of the log, or a hole before a position in the index file.
    fn end_of_chain(&mut self, reach: Reach, length: u64) -> Result<Opened> {
        let reached = self.marker_logical.max(reach.position);
        if !reach.is_complete || self.has_ended() {
            return Ok(Opened::End);
        }
        if !self.is_plain() {
            let is_short =
                reached < self.expected_end || self.is_before_completed(reached, length)?;
            // If logical and physical positions differ, later positions are unknown.
            return Ok(if is_short {
                self.abandon("the chain of sync markers ends before the offset in the index file")
            } else {
                Opened::End
            });
        }
        if reached >= self.expected_end {
            // After a replay, the index contains the file's length. Later markers prove a hole.
            let is_replayed = self.completed_at == length;
            let offset = self.marker_physical;
            return Ok(
                if is_replayed && self.file().find_marker(offset, length)?.is_some() {
                    self.abandon("the chain ends before later sync markers")
                } else {
                    Opened::End
                },
            );
        }
        if self.marker_physical + MARKER_LENGTH < length.min(self.expected_end) {
            return self.open_unmarked(reach, length);
        }
        let cause = "the file ends before the offset in the index file";
        self.end();
        Ok(Opened::Gap(Gap::new(
            reached,
            Some(self.expected_end),
            cause,
        )))
    }

    /// Whether a chain of blocks ends before the number beside COMPLETED, which is logical or
    /// physical. No space follows blocks, so the chain of a replayed file covers the whole file.
    fn is_before_completed(&self, reached: u64, length: u64) -> Result<bool> {
        let is_whole = reached == self.completed_at && self.marker_physical == length;
        let is_short = !is_whole && self.marker_physical < self.completed_at;
        Ok(is_short && !self.is_unfinished_sync(length)?)
    }

    /// Whether a killed node left part of an encrypted section here. The node stores the chunks
    /// first and their marker last, so it has not synced that section.
    fn is_unfinished_sync(&self, length: u64) -> Result<bool> {
        if self.file().descriptor().encryption.is_none() {
            return Ok(false);
        }
        let content = self.marker_physical + MARKER_LENGTH + BLOCK_HEADER_LENGTH;
        let mut bytes = [0; (MARKER_LENGTH + BLOCK_HEADER_LENGTH) as usize + CHUNK_HEADER_LENGTH];
        let read = self.file().read(self.marker_physical, &mut bytes)?;
        let (header, chunk) = bytes.split_at((MARKER_LENGTH + BLOCK_HEADER_LENGTH) as usize);
        let is_hole = header.iter().all(|byte| *byte == 0);
        let is_chunk = read == bytes.len() && chunk.iter().any(|byte| *byte != 0);
        Ok(is_hole && is_chunk && self.file().find_marker(content, length)?.is_none())
    }

    /// Handles a valid marker that leads to no other: its end is wrong, or the next one is damaged.
    fn open_doubtful(&mut self, marker: Marker, reach: Reach, length: u64) -> Result<Opened> {
        let offset = self.marker_physical;
        if let Some(end) = self.decoder.empty_block_end(offset, marker, length)? {
            let cause = "a sync marker does not point to another marker; reading continues at the next marker";
            return self.open_damaged(end, reach, length, cause);
        }
        let is_right = marker.is_plausible(offset, length)
            && (self.is_plain() || self.decoder.is_block(offset + MARKER_LENGTH, marker.end)?);
        if is_right {
            // The records of a plain section reveal a wrong end.
            return self.open_chained(marker.end, reach, length);
        }
        if let Some(next) = self.file().find_marker(offset + MARKER_LENGTH, length)? {
            let cause = "a sync marker does not point to another marker; reading continues at the next marker";
            return self.open_damaged(next, reach, length, cause);
        }
        if self.is_plain() && marker.end > length {
            return self.open_chained(marker.end, reach, length);
        }
        if !self.is_plain() && self.decoder.is_block(offset + MARKER_LENGTH, length)? {
            let cause = "a sync marker does not point to another marker; its section is read to the end of the file";
            return self.open_damaged(length, reach, length, cause);
        }
        if self.is_plain() {
            let cause = "a sync marker does not point forward; its records are read";
            let content = offset + MARKER_LENGTH;
            self.open_plain(offset, content, None, length);
            return Ok(Opened::Gap(Gap::new(offset, Some(content), cause)));
        }
        Ok(self.abandon("a sync marker points outside of the file"))
    }

    /// Opens a section and reports its marker as damaged.
    fn open_damaged(&mut self, end: u64, reach: Reach, length: u64, cause: &str) -> Result<Opened> {
        let start = self.marker_logical;
        Ok(match self.open_chained(end, reach, length)? {
            Opened::Section => Opened::Gap(Gap::of_marker(start, cause)),
            other => other,
        })
    }

    /// Opens the section after the current marker, whose physical end is `end`.
    fn open_chained(&mut self, end: u64, reach: Reach, file_length: u64) -> Result<Opened> {
        let marker = self.marker_logical;
        let content = marker + MARKER_LENGTH;
        let physical = self.marker_physical + MARKER_LENGTH;
        let is_cut = end > file_length;
        let logical_end = if self.is_plain() {
            end
        } else {
            match self.decoder.block_length(physical, end)? {
                Some(length) => content + length as u64,
                // The section's end is unknown, so it may be beyond the limit.
                None if reach.limit.is_some() => return Ok(Opened::End),
                None => {
                    let cause = "the length of a section is damaged, or is over 512 MiB";
                    return Ok(self.abandon(cause));
                }
            }
        };
        if reach.limit.is_some_and(|limit| logical_end > limit) {
            return Ok(Opened::End);
        }
        let marker_physical = self.marker_physical;
        let is_skipped = logical_end <= reach.position;
        self.decoder.begin(content);
        if !is_skipped && !self.is_plain() {
            // Decoding precedes the move, so a failed read can be repeated.
            self.decoder.decode(physical, end, logical_end)?;
        }
        self.marker_physical = end;
        self.marker_logical = logical_end;
        if is_skipped {
            return Ok(Opened::Skipped);
        }
        self.section_marker = marker;
        let stored_end = if is_cut { file_length } else { logical_end };
        self.section = Some(Section {
            marker,
            marker_physical,
            end_physical: end.min(file_length),
            start: content,
            end: self.decoder.readable_end().unwrap_or(stored_end),
            claimed_end: (is_cut && self.is_plain()).then_some(logical_end),
            end_is_searched: false,
            is_open_ended: false,
        });
        Ok(Opened::Section)
    }

    /// Whether the segment is stored without blocks: logical and physical positions are equal.
    pub fn is_plain(&self) -> bool {
        self.decoder.is_plain()
    }

    fn has_ended(&self) -> bool {
        self.marker_physical == NOWHERE
    }

    /// Ends the segment at the current marker.
    fn abandon(&mut self, cause: &str) -> Opened {
        let start = self.marker_logical;
        self.end();
        Opened::Gap(Gap::new(start, None, cause))
    }

    /// Whether a section may end at `position`: at a marker, at the end of the file, or, in plain
    /// files, at unwritten zeros.
    fn is_marker_or_end(&self, position: u64, length: u64) -> Result<bool> {
        if position + MARKER_LENGTH > length {
            return Ok(self.is_plain() || position == length);
        }
        let marker = self.file().marker(position)?;
        Ok(marker.is_zero() && self.is_plain() || self.file().is_good(position, &marker))
    }
}
