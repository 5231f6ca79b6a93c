//! The chain of sync markers: which section comes next, and what is done where the chain is broken
//! (format notes §2.1, §2.2, §2.7).
//!
//! A marker's checksum covers its place and not where it points to, so an end that leads to no
//! marker is not believed: the next marker is looked for by its checksum.

use crate::error::SegmentError;
use crate::framing::{BLOCK_HEADER_LENGTH, CHUNK_HEADER_LENGTH, Framing};
use crate::marker::{MARKER_LENGTH, Marker};
use crate::segment::{Gap, Section, SegmentReader};
use crate::source::{Source, io_error, read_fully};

/// The place of the next marker once nothing is left to read.
const NOWHERE: u64 = u64::MAX - MARKER_LENGTH;

/// What stands at the next marker.
pub(crate) enum Opened {
    Section,
    /// The section lies before the position that the reader was opened at.
    Skipped,
    Gap(Gap),
    End,
}

impl<S: Source> SegmentReader<S> {
    /// Looks at the next marker. `limit` and `complete` as in [`SegmentReader::fill`].
    pub(crate) fn open_section(
        &mut self,
        limit: Option<u64>,
        complete: bool,
    ) -> Result<Opened, SegmentError> {
        let length = self.file_length()?;
        let at = self.marker_physical;
        if at + MARKER_LENGTH > length {
            return self.end_of_chain(length, complete);
        }
        let marker = self.read_marker(at)?;
        if marker.is_zero() {
            return if complete && self.is_plain() && self.position > at {
                self.open_at_position(length)
            } else {
                self.end_of_chain(length, complete)
            };
        }
        let is_good = self.checksum.matches(at, &marker);
        if !complete {
            // A torn marker of a live file is one that is not there yet.
            return if is_good && marker.is_plausible(at, length) {
                self.open_chained(marker.end, length, limit)
            } else {
                Ok(Opened::End)
            };
        }
        let is_inside = self.position > at + MARKER_LENGTH && self.position < marker.end;
        if is_good
            && is_inside
            && self.is_plain()
            && !self.is_marker(marker.end)?
            && self.find_marker(self.position, length)?.is_some()
        {
            // Records tell of a wrong end where it should be, which may have been passed by now.
            return self.open_at_position(length);
        }
        let leads_on =
            marker.is_plausible(at, length) && self.is_marker_or_end(marker.end, length)?;
        if !is_good && self.is_plain() && self.is_record(at, length)? {
            return self.open_unmarked(length);
        }
        match (is_good, leads_on) {
            (true, true) => self.open_chained(marker.end, length, limit),
            (true, false) => self.open_doubtful(marker, length, limit),
            // The two words of a marker are not stored at once, so a node may have died between
            // them (CASSANDRA-16842). The records carry checksums of their own.
            (false, true) if marker.crc == 0 => self.open_chained(marker.end, length, limit),
            (false, true) => {
                let cause = "the checksum of a sync marker does not match; its records are read";
                self.open_damaged(marker.end, length, limit, cause)
            }
            (false, false) if self.is_plain() => self.open_unmarked(length),
            // Where logical and physical positions differ, those behind are not known.
            (false, false) => Ok(self.give_up("a sync marker is damaged")),
        }
    }

    /// Where no marker stands: the end of the log, or a hole before a position that an index named.
    fn end_of_chain(&mut self, length: u64, complete: bool) -> Result<Opened, SegmentError> {
        let reached = self.marker_logical.max(self.position);
        if !complete || self.has_ended() {
            return Ok(Opened::End);
        }
        if !self.is_plain() {
            let is_short =
                reached < self.expected_end || self.is_before_completed(reached, length)?;
            // Where logical and physical positions differ, those behind are not known.
            return Ok(if is_short {
                self.give_up("the chain ends before a position that an index of the node names")
            } else {
                Opened::End
            });
        }
        if reached >= self.expected_end {
            // A replay names the length of the file. Markers behind a hole prove what was there.
            let is_replayed = self.completed_at == length;
            let at = self.marker_physical;
            return Ok(if is_replayed && self.find_marker(at, length)?.is_some() {
                self.give_up("the chain ends before sync markers that stand behind it")
            } else {
                Opened::End
            });
        }
        if self.marker_physical + MARKER_LENGTH < length.min(self.expected_end) {
            return self.open_unmarked(length);
        }
        let cause = "the file ends before a position that an index of the node names";
        self.end_chain();
        Ok(Opened::Gap(Gap::new(
            reached,
            Some(self.expected_end),
            cause,
        )))
    }

    /// Whether a chain of blocks that ends here misses the number beside COMPLETED, logical or
    /// physical as it may be. Blocks leave no room behind them, so a replayed file is all chain.
    fn is_before_completed(&self, reached: u64, length: u64) -> Result<bool, SegmentError> {
        let is_whole = reached == self.completed_at && self.marker_physical == length;
        let is_short = !is_whole && self.marker_physical < self.completed_at;
        Ok(is_short && !self.is_unfinished_sync(length)?)
    }

    /// Whether what stands here is what a killed node leaves of an encrypted section: the node
    /// stores the chunks first and their marker last, so nothing of it was synced.
    fn is_unfinished_sync(&self, length: u64) -> Result<bool, SegmentError> {
        if self.descriptor.encryption.is_none() {
            return Ok(false);
        }
        let content = self.marker_physical + MARKER_LENGTH + BLOCK_HEADER_LENGTH;
        let mut bytes = [0; (MARKER_LENGTH + BLOCK_HEADER_LENGTH) as usize + CHUNK_HEADER_LENGTH];
        let read = read_fully(&self.source, self.marker_physical, &mut bytes)
            .map_err(|error| io_error(&self.segment, error))?;
        let (header, chunk) = bytes.split_at((MARKER_LENGTH + BLOCK_HEADER_LENGTH) as usize);
        let is_hole = header.iter().all(|byte| *byte == 0);
        let is_chunk = read == bytes.len() && chunk.iter().any(|byte| *byte != 0);
        Ok(is_hole && is_chunk && self.find_marker(content, length)?.is_none())
    }

    /// A good marker that leads to no other: its end is wrong, or the next marker is damaged.
    fn open_doubtful(
        &mut self,
        marker: Marker,
        length: u64,
        limit: Option<u64>,
    ) -> Result<Opened, SegmentError> {
        let at = self.marker_physical;
        if let Some(end) = self.empty_block_end(marker, length)? {
            let cause = "a sync marker points to no other; the next one was found";
            return self.open_damaged(end, length, limit, cause);
        }
        let is_right = marker.is_plausible(at, length)
            && (self.is_plain() || self.is_block(at + MARKER_LENGTH, marker.end)?);
        if is_right {
            // Records of a plain section tell by themselves where it does not end.
            return self.open_chained(marker.end, length, limit);
        }
        if let Some(next) = self.find_marker(at + MARKER_LENGTH, length)? {
            let cause = "a sync marker points to no other; the next one was found";
            return self.open_damaged(next, length, limit, cause);
        }
        if self.is_plain() && marker.end > length {
            return self.open_chained(marker.end, length, limit);
        }
        if !self.is_plain() && self.is_block(at + MARKER_LENGTH, length)? {
            let cause = "a sync marker points to no other; its section is read to the file's end";
            return self.open_damaged(length, length, limit, cause);
        }
        if self.is_plain() {
            let cause = "a sync marker points to no place behind it; its records are read";
            let content = at + MARKER_LENGTH;
            self.open_plain(at, content, None, length);
            return Ok(Opened::Gap(Gap::new(at, Some(content), cause)));
        }
        Ok(self.give_up("a sync marker points outside of the file"))
    }

    /// Opens a section and reports its marker as damaged.
    fn open_damaged(
        &mut self,
        end: u64,
        length: u64,
        limit: Option<u64>,
        cause: &str,
    ) -> Result<Opened, SegmentError> {
        let start = self.marker_logical;
        Ok(match self.open_chained(end, length, limit)? {
            Opened::Section => Opened::Gap(Gap::new(start, Some(start + MARKER_LENGTH), cause)),
            other => other,
        })
    }

    /// Opens the section behind the current marker, whose physical end is `end`.
    fn open_chained(
        &mut self,
        end: u64,
        file_length: u64,
        limit: Option<u64>,
    ) -> Result<Opened, SegmentError> {
        let marker = self.marker_logical;
        let content = marker + MARKER_LENGTH;
        let physical = self.marker_physical + MARKER_LENGTH;
        let is_cut = end > file_length;
        let logical_end = match &self.framing {
            Framing::Plain => end,
            Framing::Blocks(_) => match self.block_length(physical, end)? {
                Some(length) => content + length as u64,
                // Neither is known whether it may be read, nor where it would end.
                None if limit.is_some() => return Ok(Opened::End),
                None => return Ok(self.give_up("the length of a section is damaged")),
            },
        };
        if limit.is_some_and(|limit| logical_end > limit) {
            return Ok(Opened::End);
        }
        let marker_physical = self.marker_physical;
        let is_skipped = logical_end <= self.position;
        self.buffer_start = content;
        self.buffer_length = 0;
        self.block_gaps.clear();
        self.block_is_sound = false;
        if !is_skipped && !self.is_plain() {
            // Before anything moves: what cannot be read now may be read later.
            let length = (logical_end - content) as usize;
            let failure = self.decode_block(physical, end, length)?.err();
            if failure.is_some() {
                self.decode_start(physical, end, length)?;
            }
            self.block_gaps = self.block_gaps(logical_end, failure.as_deref())?;
            self.block_is_sound = self.block_gaps.is_empty() && failure.is_none();
        }
        self.marker_physical = end;
        self.marker_logical = logical_end;
        if is_skipped {
            return Ok(Opened::Skipped);
        }
        self.section_marker = marker;
        self.position = self.position.max(content);
        let readable = match self.block_gaps.front() {
            Some(gap) => {
                self.buffer_length = gap.start.saturating_sub(content) as usize;
                gap.start
            }
            None if is_cut => file_length,
            None => logical_end,
        };
        self.section = Some(Section {
            marker,
            marker_physical,
            end_physical: end.min(file_length),
            end: readable,
            claimed_end: (is_cut && self.is_plain()).then_some(logical_end),
            end_is_searched: false,
            is_open_ended: false,
        });
        Ok(Opened::Section)
    }

    /// Corrects the end of a plain section that a damaged record makes doubtful, by looking for
    /// the next marker. `None` when there is nothing to correct.
    pub(crate) fn find_section_end(
        &mut self,
        section: Section,
    ) -> Result<Option<Gap>, SegmentError> {
        if !self.is_plain() || section.end_is_searched {
            return Ok(None);
        }
        let length = self.file_length()?;
        let next = self.find_marker(self.position, length)?;
        let end = next.unwrap_or(length);
        if end == section.end || (next.is_none() && self.is_marker_or_end(section.end, length)?) {
            return Ok(None);
        }
        self.section = Some(Section {
            end,
            end_physical: end,
            claimed_end: None,
            end_is_searched: true,
            is_open_ended: next.is_none(),
            ..section
        });
        self.marker_physical = end;
        self.marker_logical = end;
        let cause = "a sync marker points to a wrong place; its records are read";
        let end = section.marker + MARKER_LENGTH;
        Ok(Some(Gap::new(section.marker, Some(end), cause)))
    }

    /// Whether the checksum of a section's marker is good.
    pub fn marker_is_good(&self, section: &Section) -> Result<bool, SegmentError> {
        let marker = self.read_marker(section.marker_physical)?;
        Ok(self.checksum.matches(section.marker_physical, &marker))
    }

    /// Whether the segment is stored without blocks, so that logical positions are physical ones.
    pub fn is_plain(&self) -> bool {
        matches!(self.framing, Framing::Plain)
    }

    /// Leaves nothing to read.
    pub(crate) fn end_chain(&mut self) {
        self.section = None;
        self.marker_physical = NOWHERE;
    }

    fn has_ended(&self) -> bool {
        self.marker_physical == NOWHERE
    }

    /// Ends the segment at the current marker.
    pub(crate) fn give_up(&mut self, cause: &str) -> Opened {
        let start = self.marker_logical;
        self.end_chain();
        Opened::Gap(Gap::new(start, None, cause))
    }

    /// Whether a section may end at `at`: another marker, or the end of the file, or in plain
    /// files the zeros that nothing was written over.
    fn is_marker_or_end(&self, at: u64, length: u64) -> Result<bool, SegmentError> {
        if at + MARKER_LENGTH > length {
            return Ok(self.is_plain() || at == length);
        }
        let marker = self.read_marker(at)?;
        Ok(marker.is_zero() && self.is_plain() || self.checksum.matches(at, &marker))
    }

    /// Whether a good marker stands at a physical offset.
    pub(crate) fn is_marker(&self, at: u64) -> Result<bool, SegmentError> {
        let marker = self.read_marker(at)?;
        Ok(self.checksum.matches(at, &marker))
    }

    /// The first place from `from` on where a marker with a good checksum stands.
    pub(crate) fn find_marker(&self, from: u64, length: u64) -> Result<Option<u64>, SegmentError> {
        let mut chunk = vec![0; 256 << 10];
        let mut at = from;
        while at + MARKER_LENGTH <= length {
            let read = read_fully(&self.source, at, &mut chunk)
                .map_err(|error| io_error(&self.segment, error))?;
            let bytes = chunk.get(..read).unwrap_or_default();
            for (place, window) in (at..).zip(bytes.windows(MARKER_LENGTH as usize)) {
                let marker = Marker::parse(window);
                if marker.is_plausible(place, length) && self.checksum.matches(place, &marker) {
                    return Ok(Some(place));
                }
            }
            let step = read.saturating_sub(MARKER_LENGTH as usize - 1);
            if step == 0 {
                break;
            }
            at += step as u64;
        }
        Ok(None)
    }

    pub(crate) fn read_marker(&self, at: u64) -> Result<Marker, SegmentError> {
        let mut bytes = [0; MARKER_LENGTH as usize];
        read_fully(&self.source, at, &mut bytes).map_err(|error| io_error(&self.segment, error))?;
        Ok(Marker::parse(&bytes))
    }
}
