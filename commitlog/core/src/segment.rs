//! A segment read forward: the chain of sync markers, logical positions, and the records of each
//! section in chunks (`CommitLogSegmentReader`, format notes §2 and §8).
//!
//! ```text
//! header | marker | records … | marker | records … | zero marker or end of file
//! ```
//!
//! Positions are logical: those of the writer's uncompressed buffer (§2.3). Memory holds one
//! chunk of a plain section, or one decoded block section; never a file.
//!
//! ```no_run
//! # use commitlog_core::segment::{Fill, SegmentReader};
//! # let file = std::fs::File::open("CommitLog-7-1.log").unwrap();
//! let mut segment = SegmentReader::open("CommitLog-7-1.log", file, 0)?;
//! loop {
//!     match segment.fill(None, true)? {
//!         Fill::Records => {
//!             let mut end = segment.position();
//!             for record in segment.records() {
//!                 end = record.end;
//!             }
//!             segment.consume(end);
//!         }
//!         Fill::Gap(gap) => eprintln!("{gap:?}"),
//!         Fill::End => break,
//!     }
//! }
//! # Ok::<(), commitlog_core::error::SegmentError>(())
//! ```

use std::collections::VecDeque;

use crate::block_section::StoredBlock;
use crate::chain::Opened;
use crate::descriptor::Descriptor;
use crate::error::SegmentError;
use crate::framing::{Framing, Keys};
use crate::marker::MarkerChecksum;
use crate::record::{Found, OVERHEAD, Records, inspect};
use crate::source::{Source, io_error, read_fully};

/// Bytes of a marker in front of its section.
pub const MARKER_BYTES: u64 = crate::marker::MARKER_LENGTH;

/// What is read of a plain section at once; more only for a larger record. Few enough to stay in
/// a core's own cache until they are decoded.
const CHUNK_BYTES: u64 = 256 << 10;

/// A logical range that gave no records, and why. `end` is `None` where the loss goes to the end
/// of the segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub start: u64,
    pub end: Option<u64>,
    pub cause: String,
}

impl Gap {
    pub(crate) fn new(start: u64, end: Option<u64>, cause: &str) -> Self {
        Self {
            start,
            end,
            cause: cause.to_owned(),
        }
    }
}

/// What [`SegmentReader::fill`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Fill {
    /// At least one whole record is at hand.
    Records,
    /// Damage was passed over; go on.
    Gap(Gap),
    /// Nothing more is readable.
    End,
}

/// What [`SegmentReader::step`] met.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A section begins: [`SegmentReader::section`].
    Section,
    /// At least one whole record is at hand.
    Records,
    /// Damage was passed over.
    Gap(Gap),
    /// So was a record whose size is good and whose payload is not.
    BadRecord(Gap),
    /// The section is used up; its last `unwritten` bytes are zeros that no record was written to.
    SectionEnd { unwritten: u64 },
    /// A section before the position that the reader was opened at.
    Skipped,
    /// Nothing more is readable.
    End,
}

/// The bytes of a file behind the last section of its chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tail {
    /// File offset; the length of the file when the chain leads there, or nobody knows where.
    pub physical: u64,
    pub bytes: u64,
    /// Up to the last byte that is not zero: written, and not or not yet closed by a marker.
    pub written_bytes: u64,
}

/// The section that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Logical place of its marker.
    pub marker: u64,
    /// Physical place of its marker, and of the end of what the file has of it.
    pub marker_physical: u64,
    pub end_physical: u64,
    /// Logical end of what the file has of it.
    pub end: u64,
    /// Logical end that its marker claims, when the file is cut short of it.
    pub claimed_end: Option<u64>,
    /// Whether the end was found by looking for the next marker.
    pub end_is_searched: bool,
    /// No marker is behind it: the chain ends where the node left room for one, eight zeros.
    pub is_open_ended: bool,
}

/// One segment and a position in it.
pub struct SegmentReader<S> {
    pub(crate) segment: String,
    pub(crate) source: S,
    pub(crate) descriptor: Descriptor,
    pub(crate) framing: Framing,
    pub(crate) checksum: MarkerChecksum,
    /// Physical and logical place of the next marker.
    pub(crate) marker_physical: u64,
    pub(crate) marker_logical: u64,
    pub(crate) section: Option<Section>,
    /// Logical place of the marker of the last section that was opened.
    pub(crate) section_marker: u64,
    /// Everything before is consumed.
    pub(crate) position: u64,
    pub(crate) buffer: Vec<u8>,
    /// Logical position of the buffer's first byte, and how many bytes of it are valid.
    pub(crate) buffer_start: u64,
    pub(crate) buffer_length: usize,
    /// Of the last block section that was looked at.
    pub(crate) block: StoredBlock,
    /// What is not to be read of the current block section.
    pub(crate) block_gaps: VecDeque<Gap>,
    /// Whether all records of the current block section are known to be good.
    pub(crate) block_is_sound: bool,
    /// As given to [`Self::expect_end`].
    pub(crate) expected_end: u64,
    /// As given to [`Self::expect_completed`].
    pub(crate) completed_at: u64,
}

impl<S: Source> SegmentReader<S> {
    /// Opens a segment that needs no key; see [`Self::open_with_keys`].
    pub fn open(segment: &str, source: S, position: u64) -> Result<Self, SegmentError> {
        Self::open_with_keys(segment, source, position, &Keys::default())
    }

    /// Reads the header. `position` is 0 or the end of a record: what lies before is skipped.
    /// `keys` are those that encrypted segments may need.
    pub fn open_with_keys(
        segment: &str,
        source: S,
        position: u64,
        keys: &Keys,
    ) -> Result<Self, SegmentError> {
        let descriptor = read_descriptor(segment, &source)?;
        let framing = Framing::of(segment, &descriptor, keys)?;
        Ok(Self {
            segment: segment.to_owned(),
            checksum: MarkerChecksum::of(descriptor.id),
            marker_physical: descriptor.length,
            marker_logical: descriptor.length,
            section: None,
            section_marker: descriptor.length,
            position,
            buffer: Vec::new(),
            buffer_start: 0,
            buffer_length: 0,
            block: StoredBlock::default(),
            block_gaps: VecDeque::new(),
            block_is_sound: false,
            expected_end: 0,
            completed_at: 0,
            source,
            descriptor,
            framing,
        })
    }

    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// File name, as given.
    pub fn segment(&self) -> &str {
        &self.segment
    }

    /// Logical position up to which everything is consumed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// A logical position that an index of the node named: the chain once led there, so it is
    /// damaged where it ends earlier. The largest one counts.
    pub fn expect_end(&mut self, end: u64) {
        self.expected_end = self.expected_end.max(end);
    }

    /// The number beside COMPLETED of the segment's index, 0 for none: the logical end where the
    /// node closed the segment, the length of the file where it replayed it (§7.4). A chain of
    /// blocks leads to the one or to the other.
    pub fn expect_completed(&mut self, number: u64) {
        self.completed_at = number;
    }

    /// The section that is being read. A damaged marker's section begins with a gap and no
    /// [`Step::Section`].
    pub fn section(&self) -> Option<Section> {
        self.section
    }

    /// What stands behind the last section of the chain. Only records that a marker closes are
    /// part of the log (§2.4), so this is none of it, whatever it looks like.
    pub fn tail(&self) -> Result<Tail, SegmentError> {
        let length = self.file_length()?;
        let mut tail = Tail {
            physical: self.marker_physical.min(length),
            bytes: length.saturating_sub(self.marker_physical),
            written_bytes: 0,
        };
        let mut chunk = vec![0; 64 << 10];
        let mut at = tail.physical;
        while at < length {
            let read = read_fully(&self.source, at, &mut chunk)
                .map_err(|error| io_error(&self.segment, error))?;
            let bytes = chunk.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
                tail.written_bytes = at + last as u64 + 1 - tail.physical;
            }
            at += bytes.len() as u64;
        }
        Ok(tail)
    }

    /// Records from the current position on that are in memory; empty unless the last
    /// [`Self::fill`] gave [`Fill::Records`].
    pub fn records(&self) -> Records<'_> {
        let left = self
            .section
            .map_or(0, |section| section.end.saturating_sub(self.position));
        let records = Records::new(self.buffered(), self.position, left);
        if self.block_is_sound {
            records.checked()
        } else {
            records
        }
    }

    /// Moves on to `position`, the end of a record of [`Self::records`].
    pub fn consume(&mut self, position: u64) {
        self.position = position;
    }

    /// Brings the next whole record into memory, or says what stands there instead.
    ///
    /// `limit`: only sections whose logical end is at most this are read. `complete`: the file
    /// does not change any more, so an unreadable marker is damage; otherwise it is "not yet".
    pub fn fill(&mut self, limit: Option<u64>, complete: bool) -> Result<Fill, SegmentError> {
        loop {
            match self.step(limit, complete)? {
                Step::Records => return Ok(Fill::Records),
                Step::Gap(gap) | Step::BadRecord(gap) => return Ok(Fill::Gap(gap)),
                Step::End => return Ok(Fill::End),
                Step::Section | Step::SectionEnd { .. } | Step::Skipped => {}
            }
        }
    }

    /// As [`Self::fill`], for who looks at the structure: sections are told too.
    pub fn step(&mut self, limit: Option<u64>, complete: bool) -> Result<Step, SegmentError> {
        let Some(section) = self.section else {
            return Ok(match self.open_section(limit, complete)? {
                Opened::Section => Step::Section,
                Opened::Skipped => Step::Skipped,
                Opened::Gap(gap) => Step::Gap(gap),
                Opened::End => Step::End,
            });
        };
        let left = section.end.saturating_sub(self.position);
        let mut found = inspect(self.buffered(), left);
        // The size is known only once the header is at hand, so a large record takes two loads.
        while let Found::NeedsBytes(wanted) = found {
            let before = self.buffered().len();
            self.load(section, wanted)?;
            found = inspect(self.buffered(), left);
            if self.buffered().len() <= before {
                break;
            }
        }
        let cause = match found {
            Found::Record(_) => return Ok(Step::Records),
            Found::SectionEnd => {
                if let Some(gap) = self.next_block_gap() {
                    return Ok(Step::Gap(gap));
                }
                self.section = None;
                return Ok(match section.claimed_end {
                    None => Step::SectionEnd { unwritten: left },
                    Some(end) => {
                        let cause = "the file is cut short inside a section";
                        Step::Gap(Gap::new(section.end, Some(end), cause))
                    }
                });
            }
            Found::BadPayloadCrc(payload) => {
                let start = self.position;
                let end = start + (payload.len() + OVERHEAD) as u64;
                self.position = end;
                let cause = "the checksum of a record does not match";
                return Ok(Step::BadRecord(Gap::new(start, Some(end), cause)));
            }
            Found::Zero if section.is_open_ended => {
                // The place of a marker: the chain goes on there, or ends.
                self.marker_physical = self.position;
                self.marker_logical = self.position;
                self.section = None;
                return Ok(Step::SectionEnd { unwritten: 0 });
            }
            Found::Zero => {
                if section.claimed_end.is_none() && self.rest_is_zero(section)? {
                    let start = self.position;
                    // A marker is set when all records before it are written, and a segment is
                    // complete when its last one is (§7.3).
                    let synced_end = match self.completed_at {
                        0 => section.end.min(self.expected_end),
                        _ => section.end,
                    };
                    self.position = section.end;
                    self.section = None;
                    if synced_end > start {
                        let cause = "zeros stand where an index of the node names records";
                        return Ok(Step::Gap(Gap::new(start, Some(synced_end), cause)));
                    }
                    return Ok(Step::SectionEnd { unwritten: left });
                }
                "a record was never written (its size is zero)".to_owned()
            }
            Found::BadSize(size) => {
                format!("a record's size of {size} bytes does not fit its section")
            }
            Found::BadSizeCrc(size) => {
                format!("the checksum of a record's size ({size}) does not match")
            }
            Found::NeedsBytes(_) => "the file ends inside a section".to_owned(),
        };
        if complete && let Some(gap) = self.find_section_end(section)? {
            return Ok(Step::Gap(gap));
        }
        let start = self.position;
        if section.is_open_ended {
            self.end_chain();
            return Ok(Step::Gap(Gap::new(start, None, &cause)));
        }
        if section.claimed_end.is_none()
            && self.may_go_on(section)?
            && let Some(next) = self.find_record(start, section.end)?
        {
            self.position = next;
            return Ok(Step::Gap(Gap::new(start, Some(next), &cause)));
        }
        let end = section.claimed_end.unwrap_or(section.end);
        self.position = end;
        self.section = None;
        Ok(Step::Gap(Gap::new(start, Some(end), &cause)))
    }

    /// Passes over a part of a block section that is not to be read.
    fn next_block_gap(&mut self) -> Option<Gap> {
        let gap = self.block_gaps.pop_front()?;
        let end = self.block_gaps.front().map(|gap| gap.start);
        let end = end.unwrap_or(self.marker_logical);
        self.buffer_length = end.saturating_sub(self.buffer_start) as usize;
        if let Some(section) = &mut self.section {
            section.end = end;
        }
        self.position = self.position.max(gap.end.unwrap_or_default());
        Some(gap)
    }

    fn buffered(&self) -> &[u8] {
        self.position
            .checked_sub(self.buffer_start)
            .and_then(|from| usize::try_from(from).ok())
            .and_then(|from| self.buffer.get(from..self.buffer_length))
            .unwrap_or_default()
    }

    /// Reads `wanted` bytes or more of a plain section from the current position on.
    fn load(&mut self, section: Section, wanted: usize) -> Result<(), SegmentError> {
        if !matches!(self.framing, Framing::Plain) {
            return Ok(());
        }
        let left = section.end.saturating_sub(self.position);
        let length = (wanted as u64).max(CHUNK_BYTES).min(left);
        self.buffer_start = self.position;
        self.buffer_length = 0;
        self.read_into_buffer(self.position, length as usize)
    }

    fn read_into_buffer(&mut self, physical: u64, length: usize) -> Result<(), SegmentError> {
        if self.buffer.len() < length || self.buffer.len() > length.saturating_mul(4) {
            self.buffer = vec![0; length];
        }
        let target = self.buffer.get_mut(..length).unwrap_or_default();
        self.buffer_length = read_fully(&self.source, physical, target)
            .map_err(|error| io_error(&self.segment, error))?;
        Ok(())
    }

    fn rest_is_zero(&self, section: Section) -> Result<bool, SegmentError> {
        if !matches!(self.framing, Framing::Plain) {
            return Ok(self.buffered().iter().all(|byte| *byte == 0));
        }
        let mut at = self.position;
        let mut chunk = vec![0; 64 << 10];
        while at < section.end {
            let length = (chunk.len() as u64).min(section.end - at) as usize;
            let bytes = chunk.get_mut(..length).unwrap_or_default();
            let read = read_fully(&self.source, at, bytes)
                .map_err(|error| io_error(&self.segment, error))?;
            if read < length || bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += length as u64;
        }
        Ok(true)
    }

    pub(crate) fn file_length(&self) -> Result<u64, SegmentError> {
        self.source
            .length()
            .map_err(|error| io_error(&self.segment, error))
    }
}

/// Reads the header of a segment.
pub fn read_descriptor(segment: &str, source: &impl Source) -> Result<Descriptor, SegmentError> {
    // The longest header: the length of its JSON part has 16 bits.
    let mut header = vec![0; 18 + usize::from(u16::MAX)];
    let read = read_fully(source, 0, &mut header).map_err(|error| io_error(segment, error))?;
    header.truncate(read);
    Descriptor::parse(segment, &header)
}
