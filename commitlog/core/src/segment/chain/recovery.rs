//! Sections of a broken chain (format notes §2.7).
//!
//! A plain section without a valid marker is read as far as its records lead. It ends at the next
//! marker, or at the eight zeros that the node leaves for a marker at a sync.

use super::{Chain, Opened, Reach, Section};
use crate::segment::Result;
use crate::segment::gap::Gap;
use crate::segment::marker::MARKER_LENGTH;
use crate::source::Source;

impl<S: Source> Chain<S> {
    /// Whether the reader may search for records after damage at `position`.
    ///
    /// Eight zeros can be the end of the chain, followed by records that were never synced. The
    /// search continues only if a marker or an index file proves that the section ends later.
    pub fn may_search(&self, section: Section, position: u64) -> Result<bool> {
        let is_synced = section.end <= self.expected_end;
        Ok(!self.is_plain()
            || is_synced
            || !self.decoder.has_zero_header(position)?
            || self.file().is_marker(section.end)?)
    }

    /// Corrects the end of a plain section after a damaged record, by searching for the next
    /// marker. Returns `None` if there is nothing to correct.
    pub fn correct_section_end(&mut self, section: Section, position: u64) -> Result<Option<Gap>> {
        if !self.is_plain() || section.end_is_searched {
            return Ok(None);
        }
        let length = self.file().length()?;
        let next = self.file().find_marker(position, length)?;
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
        let cause = "a sync marker points to a wrong offset; its records are read";
        Ok(Some(Gap::of_marker(section.marker, cause)))
    }

    /// Opens a plain section without a valid marker, and reports the damage.
    pub(super) fn open_unmarked(&mut self, reach: Reach, length: u64) -> Result<Opened> {
        let start = self.marker_physical;
        if reach.position > start {
            return self.open_at_position(reach, length);
        }
        let next = self.file().find_marker(start + 1, length)?;
        let (gap, content) = if self.file().is_record(start, length)? {
            // Unsynced records follow eight zeros, so the node has synced this record.
            let cause = "a sync marker points into its own section; the whole section is read";
            (Gap::of_marker(self.section_marker, cause), start)
        } else {
            let is_synced = (start + MARKER_LENGTH + 1..=length).contains(&self.expected_end);
            if next.is_none() && !is_synced {
                // There may be records here that the node never synced.
                return Ok(self.abandon("a sync marker is damaged"));
            }
            let cause = "a sync marker is damaged; its records are read";
            let content = (start + MARKER_LENGTH).min(next.unwrap_or(length));
            (Gap::new(start, Some(content), cause), content)
        };
        self.open_plain(start, content, next, length);
        if next.is_none() {
            self.end_where_expected();
        }
        Ok(Opened::Gap(gap))
    }

    /// Ends a section without a next marker at the synced end in the index file.
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

    /// Opens a plain section at the reader's position if the chain breaks before it. An earlier
    /// reader reached this position, so a record starts there.
    pub(super) fn open_at_position(&mut self, reach: Reach, length: u64) -> Result<Opened> {
        let start = self.marker_physical;
        let cause = "a sync marker points to a wrong offset; the remaining records are read";
        let next = self.file().find_marker(reach.position, length)?;
        self.open_plain(start, reach.position, next, length);
        Ok(Opened::Gap(Gap::of_marker(start, cause)))
    }

    /// Opens a plain section from `content` to the next marker or, without one, to the file's end.
    pub(super) fn open_plain(&mut self, marker: u64, content: u64, next: Option<u64>, length: u64) {
        let end = next.unwrap_or(length);
        self.marker_physical = end;
        self.marker_logical = end;
        self.section_marker = marker;
        self.decoder.begin(content);
        self.section = Some(Section {
            marker,
            marker_physical: marker,
            end_physical: end,
            start: content,
            end,
            claimed_end: None,
            end_is_searched: true,
            is_open_ended: next.is_none(),
        });
    }
}
