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

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::descriptor::Descriptor;
use crate::error::SegmentError;
use crate::framing::{BLOCK_HEADER_LENGTH, Framing};
use crate::marker::{MARKER_LENGTH, Marker, MarkerChecksum};
use crate::record::{Found, OVERHEAD, Records, inspect};

/// What is read of a plain section at once; more only for a larger record.
const CHUNK_BYTES: u64 = 1 << 20;

/// Bytes at an offset: a file, or memory in tests.
pub trait Source {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn length(&self) -> io::Result<u64>;
}

impl Source for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(from..).unwrap_or_default();
        let length = bytes.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// A logical range that gave no records, and why. `end` is `None` where the loss goes to the end
/// of the segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub start: u64,
    pub end: Option<u64>,
    pub cause: String,
}

impl Gap {
    fn new(start: u64, end: Option<u64>, cause: &str) -> Self {
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

/// The section that is being read.
#[derive(Debug, Clone, Copy)]
struct Section {
    /// Logical end of what the file has of it.
    end: u64,
    /// Logical end that its marker claims, when the file is cut short of it.
    claimed_end: Option<u64>,
}

/// One segment and a position in it.
pub struct SegmentReader<S> {
    segment: String,
    source: S,
    descriptor: Descriptor,
    framing: Framing,
    checksum: MarkerChecksum,
    /// Physical and logical place of the next marker.
    marker_physical: u64,
    marker_logical: u64,
    section: Option<Section>,
    /// Everything before is consumed.
    position: u64,
    buffer: Vec<u8>,
    /// Logical position of the buffer's first byte, and how many bytes of it are valid.
    buffer_start: u64,
    buffer_length: usize,
}

enum Opened {
    Section,
    Skipped,
    Gap(Gap),
    End,
}

impl<S: Source> SegmentReader<S> {
    /// Reads the header. `position` is 0 or the end of a record: what lies before is skipped.
    pub fn open(segment: &str, source: S, position: u64) -> Result<Self, SegmentError> {
        let descriptor = read_descriptor(segment, &source)?;
        let framing = Framing::of(segment, &descriptor)?;
        Ok(Self {
            segment: segment.to_owned(),
            checksum: MarkerChecksum::of(descriptor.id),
            marker_physical: descriptor.length,
            marker_logical: descriptor.length,
            section: None,
            position,
            buffer: Vec::new(),
            buffer_start: 0,
            buffer_length: 0,
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

    /// Records from the current position on that are in memory; empty unless the last
    /// [`Self::fill`] gave [`Fill::Records`].
    pub fn records(&self) -> Records<'_> {
        let left = self
            .section
            .map_or(0, |section| section.end.saturating_sub(self.position));
        Records::new(self.buffered(), self.position, left)
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
            let Some(section) = self.section else {
                match self.open_section(limit, complete)? {
                    Opened::Section | Opened::Skipped => continue,
                    Opened::Gap(gap) => return Ok(Fill::Gap(gap)),
                    Opened::End => return Ok(Fill::End),
                }
            };
            let left = section.end.saturating_sub(self.position);
            let mut found = inspect(self.buffered(), left);
            if let Found::NeedsBytes(wanted) = found {
                self.load(section, wanted)?;
                found = inspect(self.buffered(), left);
            }
            let section_end = section.claimed_end.unwrap_or(section.end);
            let cause = match found {
                Found::Record(_) => return Ok(Fill::Records),
                Found::SectionEnd => {
                    self.section = None;
                    match section.claimed_end {
                        None => continue,
                        Some(end) => {
                            return Ok(Fill::Gap(Gap::new(
                                section.end,
                                Some(end),
                                "the file is cut short inside a section",
                            )));
                        }
                    }
                }
                Found::BadPayloadCrc(payload) => {
                    let start = self.position;
                    let end = start + (payload.len() + OVERHEAD) as u64;
                    self.position = end;
                    return Ok(Fill::Gap(Gap::new(
                        start,
                        Some(end),
                        "the checksum of a record does not match",
                    )));
                }
                Found::Zero => {
                    if section.claimed_end.is_none() && self.rest_is_zero(section)? {
                        self.position = section.end;
                        self.section = None;
                        continue;
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
            let start = self.position;
            self.position = section_end;
            self.section = None;
            return Ok(Fill::Gap(Gap::new(start, Some(section_end), &cause)));
        }
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

    /// Looks at the next marker.
    fn open_section(&mut self, limit: Option<u64>, complete: bool) -> Result<Opened, SegmentError> {
        let length = self.file_length()?;
        let at = self.marker_physical;
        if at + MARKER_LENGTH > length {
            return Ok(Opened::End);
        }
        let marker = self.read_marker(at)?;
        if marker.is_zero() {
            return Ok(Opened::End);
        }
        let is_plausible = marker.is_plausible(at, length);
        if self.checksum.matches(at, &marker) {
            if is_plausible {
                return self.open_chained(marker.end, length, limit);
            }
            if !complete {
                return Ok(Opened::End);
            }
            if marker.end > length && matches!(self.framing, Framing::Plain) {
                return self.open_chained(marker.end, length, limit);
            }
            return Ok(self.give_up("a sync marker points outside of the file"));
        }
        if !complete {
            return Ok(Opened::End);
        }
        if is_plausible && self.is_marker_or_end(marker.end, length)? {
            // Java's own readers may meet the end without its checksum: the two words are not
            // stored at once (CASSANDRA-16842). The records carry their own checksums.
            if marker.crc == 0 {
                return self.open_chained(marker.end, length, limit);
            }
            let start = self.marker_logical;
            return Ok(match self.open_chained(marker.end, length, limit)? {
                Opened::Section => Opened::Gap(Gap::new(
                    start,
                    Some(start + MARKER_LENGTH),
                    "the checksum of a sync marker does not match; its records are read",
                )),
                other => other,
            });
        }
        if matches!(self.framing, Framing::Plain)
            && let Some(next) = self.find_marker(at + 1, length)?
        {
            self.marker_physical = next;
            self.marker_logical = next;
            self.position = self.position.max(next);
            return Ok(Opened::Gap(Gap::new(
                at,
                Some(next),
                "a sync marker is damaged; reading goes on at the next one",
            )));
        }
        Ok(self.give_up("a sync marker is damaged"))
    }

    /// Opens the section behind the current marker, whose physical end is `end`.
    fn open_chained(
        &mut self,
        end: u64,
        file_length: u64,
        limit: Option<u64>,
    ) -> Result<Opened, SegmentError> {
        let content = self.marker_logical + MARKER_LENGTH;
        let physical = self.marker_physical + MARKER_LENGTH;
        let (logical_end, block) = match &self.framing {
            Framing::Plain => (end, None),
            Framing::Blocks(_) => match self.block_length(physical, end)? {
                Ok(length) => (content + length as u64, Some(length)),
                Err(cause) => {
                    if limit.is_some() {
                        // The logical end is not known, so neither is whether it may be read.
                        return Ok(Opened::End);
                    }
                    return Ok(self.give_up(&cause));
                }
            },
        };
        if limit.is_some_and(|limit| logical_end > limit) {
            return Ok(Opened::End);
        }
        let start = self.marker_logical;
        self.marker_physical = end;
        self.marker_logical = logical_end;
        if logical_end <= self.position {
            return Ok(Opened::Skipped);
        }
        self.position = self.position.max(content);
        self.buffer_start = content;
        self.buffer_length = 0;
        if let Some(length) = block
            && let Err(cause) = self.decode_block(physical, end, length)?
        {
            self.position = logical_end;
            return Ok(Opened::Gap(Gap::new(start, Some(logical_end), &cause)));
        }
        let is_cut = end > file_length;
        self.section = Some(Section {
            end: if is_cut { file_length } else { logical_end },
            claimed_end: is_cut.then_some(logical_end),
        });
        Ok(Opened::Section)
    }

    /// The decoded length of a block section; the inner error is damage.
    fn block_length(&self, physical: u64, end: u64) -> Result<Result<usize, String>, SegmentError> {
        let mut header = [0; BLOCK_HEADER_LENGTH as usize];
        let stored = end.saturating_sub(physical + BLOCK_HEADER_LENGTH);
        if physical + BLOCK_HEADER_LENGTH > end
            || read_fully(&self.source, physical, &mut header)
                .map_err(|error| io_error(&self.segment, error))?
                < header.len()
        {
            return Ok(Err("a section is too short for its header".to_owned()));
        }
        let length = u32::from_be_bytes(header) as usize;
        let max_length = match &self.framing {
            Framing::Plain => usize::MAX,
            Framing::Blocks(decoder) => decoder.max_length(stored as usize),
        };
        Ok(if length <= max_length && i32::try_from(length).is_ok() {
            Ok(length)
        } else {
            Err(format!(
                "a section of {stored} stored bytes claims {length} bytes of records"
            ))
        })
    }

    /// Fills the buffer with the records of a block section; the inner error is damage.
    fn decode_block(
        &mut self,
        physical: u64,
        end: u64,
        length: usize,
    ) -> Result<Result<(), String>, SegmentError> {
        let Framing::Blocks(decoder) = &self.framing else {
            return Ok(Ok(()));
        };
        // An empty closing section carries whatever its compressor makes of nothing (§2.5).
        if length == 0 {
            return Ok(Ok(()));
        }
        let from = physical + BLOCK_HEADER_LENGTH;
        let mut block = vec![0; end.saturating_sub(from) as usize];
        let read = read_fully(&self.source, from, &mut block)
            .map_err(|error| io_error(&self.segment, error))?;
        if read < block.len() {
            return Ok(Err("the file ends inside a section".to_owned()));
        }
        if self.buffer.len() < length || self.buffer.len() > length.saturating_mul(4) {
            self.buffer = vec![0; length];
        }
        let target = self.buffer.get_mut(..length).unwrap_or_default();
        Ok(decoder.decode(&block, target).inspect(|()| {
            self.buffer_length = length;
        }))
    }

    /// Ends the segment at the current marker.
    fn give_up(&mut self, cause: &str) -> Opened {
        let start = self.marker_logical;
        self.marker_physical = u64::MAX - MARKER_LENGTH;
        Opened::Gap(Gap::new(start, None, cause))
    }

    /// Whether a good marker, a zero one or the end of the file stands at `at`.
    fn is_marker_or_end(&self, at: u64, length: u64) -> Result<bool, SegmentError> {
        if at + MARKER_LENGTH > length {
            return Ok(true);
        }
        let marker = self.read_marker(at)?;
        Ok(marker.is_zero() || self.checksum.matches(at, &marker))
    }

    /// The first place from `from` on where a plausible marker with a good checksum stands.
    fn find_marker(&self, from: u64, length: u64) -> Result<Option<u64>, SegmentError> {
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

    fn read_marker(&self, at: u64) -> Result<Marker, SegmentError> {
        let mut bytes = [0; MARKER_LENGTH as usize];
        read_fully(&self.source, at, &mut bytes).map_err(|error| io_error(&self.segment, error))?;
        Ok(Marker::parse(&bytes))
    }

    fn file_length(&self) -> Result<u64, SegmentError> {
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

fn io_error(segment: &str, error: io::Error) -> SegmentError {
    SegmentError::Io {
        segment: segment.to_owned(),
        error,
    }
}

/// Reads until `buffer` is full or the file ends; gives the number of bytes.
fn read_fully(source: &impl Source, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match source.read_at(offset + read as u64, rest) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
