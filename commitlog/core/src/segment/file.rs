//! The file of a segment: its header, its bytes, and the sync markers at their physical offsets.

use super::marker::{MARKER_LENGTH, Marker, MarkerChecksum};
use crate::descriptor::{Descriptor, SegmentName};
use crate::error::SegmentError;
use crate::record;
use crate::segment::Result;
use crate::source::{Source, io_error, read_fully};

/// Bytes of each read in a search.
const SEARCH_BYTES: usize = 256 << 10;
/// The maximum of Java's int, the type of positions in a segment and of a marker's end.
const MAX_SEGMENT_BYTES: u64 = i32::MAX as u64;
/// Bytes of the first section that [`SegmentFile::fingerprint`] covers.
const FINGERPRINT_BYTES: u64 = 256;
/// Bytes that [`SegmentFile::tail`] and [`SegmentFile::is_zero`] read at once.
const ZERO_CHECK_BYTES: usize = 64 << 10;

/// The bytes of a file after the last section of its chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tail {
    /// File offset; the length of the file if the chain leads there or is broken.
    pub physical: u64,
    pub bytes: u64,
    /// Bytes up to the last byte that is not zero: written, but not (yet) closed by a marker.
    pub written_bytes: u64,
}

/// A segment's file.
///
/// Invariant: it stores no position and no bytes except for the header. Every result depends only
/// on the file and the arguments.
pub(super) struct SegmentFile<S> {
    name: String,
    source: S,
    descriptor: Descriptor,
    checksum: MarkerChecksum,
}

impl<S: Source> SegmentFile<S> {
    pub fn open(name: &str, source: S) -> Result<Self> {
        checked_length(name, &source)?;
        let descriptor = read_descriptor(name, &source)?;
        // Like `CommitLogReader`, which compares the ids and uses the version in the header.
        if let Some(claimed) = SegmentName::parse(name)
            && claimed.id != descriptor.id
        {
            return Err(SegmentError::Foreign {
                segment: name.to_owned(),
                reason: format!(
                    "the header has the id {}, so this is a different segment with a wrong name",
                    descriptor.id
                ),
            });
        }
        Ok(Self {
            name: name.to_owned(),
            checksum: MarkerChecksum::for_segment(descriptor.id),
            source,
            descriptor,
        })
    }

    /// Returns the current length; fails if the file is too large for a segment.
    pub fn length(&self) -> Result<u64> {
        checked_length(&self.name, &self.source)
    }

    /// Returns a checksum of the header, the first marker and the start of the first section. It
    /// does not change after the first section is synced, and it differs in any other segment.
    pub fn fingerprint(&self) -> Result<u32> {
        let first = self.descriptor.length;
        let marker = self.marker(first)?;
        let end = if marker.is_plausible(first, self.length()?) {
            marker.end.min(first + MARKER_LENGTH + FINGERPRINT_BYTES)
        } else {
            first
        };
        let mut bytes = vec![0; end as usize];
        let read = self.read(0, &mut bytes)?;
        Ok(crc32fast::hash(bytes.get(..read).unwrap_or_default()))
    }

    /// Returns the first offset from `start` that is not in a hole, but at most `end`.
    fn after_hole(&self, start: u64, end: u64) -> Result<u64> {
        let data = (self.source.skip_hole(start)).map_err(|error| io_error(&self.name, error))?;
        Ok(data.unwrap_or(end).min(end))
    }

    /// Returns the offset at which a search from `position` for eight bytes that are not all zero
    /// continues: they can begin in a hole.
    pub fn search_from(&self, position: u64, end: u64) -> Result<u64> {
        let data = self.after_hole(position, end)?;
        Ok(data.saturating_sub(MARKER_LENGTH - 1).max(position))
    }

    /// Reads until `buffer` is full or the file ends; returns the number of bytes.
    pub fn read(&self, position: u64, buffer: &mut [u8]) -> Result<usize> {
        read_fully(&self.source, position, buffer).map_err(|error| io_error(&self.name, error))
    }

    /// Reads the eight bytes at `position` as a marker, without verifying it.
    pub fn marker(&self, position: u64) -> Result<Marker> {
        let mut bytes = [0; MARKER_LENGTH as usize];
        self.read(position, &mut bytes)?;
        Ok(Marker::parse(&bytes))
    }

    /// Whether the checksum of a marker at `position` is valid.
    pub fn is_good(&self, position: u64, marker: &Marker) -> bool {
        self.checksum.matches(position, marker)
    }

    /// Whether a marker with a valid checksum is at `position`.
    pub fn is_marker(&self, position: u64) -> Result<bool> {
        Ok(self.is_good(position, &self.marker(position)?))
    }

    /// Returns the offset of the first marker with a valid checksum, starting at `start`.
    pub fn find_marker(&self, start: u64, length: u64) -> Result<Option<u64>> {
        let mut chunk = vec![0; SEARCH_BYTES];
        let mut position = start;
        loop {
            position = self.search_from(position, length)?;
            if position + MARKER_LENGTH > length {
                break;
            }
            let read = self.read(position, &mut chunk)?;
            let bytes = chunk.get(..read).unwrap_or_default();
            for (offset, window) in (position..).zip(bytes.windows(MARKER_LENGTH as usize)) {
                let marker = Marker::parse(window);
                if marker.is_plausible(offset, length) && self.is_good(offset, &marker) {
                    return Ok(Some(offset));
                }
            }
            let step = read.saturating_sub(MARKER_LENGTH as usize - 1);
            if step == 0 {
                break;
            }
            position += step as u64;
        }
        Ok(None)
    }

    /// Whether a record header is at `position` and its record fits before `end`.
    pub fn is_record(&self, position: u64, end: u64) -> Result<bool> {
        let mut header = [0; record::HEADER];
        let read = self.read(position, &mut header)?;
        Ok(record::end(header.get(..read).unwrap_or_default(), position, end).is_some())
    }

    /// Whether all bytes of a range exist and are zero.
    pub fn is_zero(&self, start: u64, end: u64) -> Result<bool> {
        let mut position = start;
        let mut chunk = vec![0; ZERO_CHECK_BYTES];
        if end > self.length()? {
            return Ok(false);
        }
        loop {
            position = self.after_hole(position, end)?;
            if position >= end {
                return Ok(true);
            }
            let length = (chunk.len() as u64).min(end - position) as usize;
            let bytes = chunk.get_mut(..length).unwrap_or_default();
            let read = self.read(position, bytes)?;
            if read < length || bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            position += length as u64;
        }
    }

    /// Measures the bytes from `start` to the end of the file.
    pub fn tail(&self, start: u64) -> Result<Tail> {
        let length = self.length()?;
        let mut tail = Tail {
            physical: start.min(length),
            bytes: length.saturating_sub(start),
            written_bytes: 0,
        };
        let mut chunk = vec![0; ZERO_CHECK_BYTES];
        let mut position = tail.physical;
        loop {
            position = self.after_hole(position, length)?;
            let read = self.read(position, &mut chunk)?;
            let bytes = chunk.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
                tail.written_bytes = position + last as u64 + 1 - tail.physical;
            }
            position += bytes.len() as u64;
        }
        Ok(tail)
    }
}

impl<S> SegmentFile<S> {
    /// Returns the file name that the caller passed.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }
}

fn checked_length(segment: &str, source: &impl Source) -> Result<u64> {
    let length = (source.length()).map_err(|error| io_error(segment, error))?;
    if length > MAX_SEGMENT_BYTES {
        return Err(SegmentError::Foreign {
            segment: segment.to_owned(),
            reason: format!(
                "the file has {length} bytes, but a segment has at most {MAX_SEGMENT_BYTES}, so no \
                 node wrote it"
            ),
        });
    }
    Ok(length)
}

/// Reads the header of a segment.
pub fn read_descriptor(segment: &str, source: &impl Source) -> Result<Descriptor> {
    // The longest header: the length of its JSON part has 16 bits.
    let mut header = vec![0; 18 + usize::from(u16::MAX)];
    let read = read_fully(source, 0, &mut header).map_err(|error| io_error(segment, error))?;
    header.truncate(read);
    Descriptor::parse(segment, &header)
}
