//! Sections that are stored as one block: determines their length and decodes their records (format
//! notes §2.5, §2.6).
//!
//! ```text
//! marker | L: 4 | block        L bytes of records when it is decoded
//! ```
//!
//! No checksum covers L, and all later positions depend on it. So L is trusted if the block
//! contains the same length or decodes to it.

use super::{SectionDecoder, reuse};
use crate::framing::{BLOCK_HEADER_LENGTH, Framing};
use crate::memory::TooLarge;
use crate::segment::Result;
use crate::segment::marker::{MARKER_LENGTH, Marker};
use crate::source::Source;

/// Bytes of a block that may contain its decoded length.
pub(super) const BLOCK_START: usize = 16;
/// Maximum length of a compressor's output for an empty input.
const MAX_EMPTY_BLOCK: usize = 16;
/// Maximum bytes of records in one section. Cassandra's buffer is as large as a segment, by default
/// 32 MiB (`commitlog_segment_size`). Without a limit, 64 KiB of Zstandard could take 2 GiB.
const MAX_SECTION_BYTES: usize = 512 << 20;

/// The stored bytes of one block.
#[derive(Default)]
pub(super) struct StoredBlock {
    bytes: Vec<u8>,
    length: usize,
    /// The decoded block in the reader's buffer: physical start, end, and length of the records.
    decoded: Option<(u64, u64, usize)>,
}

/// The start of a block section.
struct BlockHeader {
    /// Length of the records according to the section.
    length: usize,
    /// Length of the records according to the block, if the block stores it.
    own_length: Option<usize>,
    max_length: usize,
    /// Length of the block.
    stored: usize,
}

impl BlockHeader {
    /// Whether this section closes a segment (§2.5): it has no records, and its block is as short
    /// as a compressor's output for an empty input.
    fn is_empty_section(&self) -> bool {
        self.length == 0 && self.own_length.unwrap_or(0) == 0 && self.stored <= MAX_EMPTY_BLOCK
    }
}

impl<S: Source> SectionDecoder<S> {
    /// Whether a whole block lies between two physical offsets and decodes to the length in its
    /// section's header.
    pub fn is_block(&mut self, physical: u64, end: u64) -> Result<bool> {
        let Some(header) = self.block_header(physical, end)? else {
            return Ok(false);
        };
        if header.is_empty_section() {
            return Ok(true);
        }
        Ok(header.length <= header.max_length
            && self.decode_stored(physical, end, header.length)?.is_ok())
    }

    /// Finds the end of an empty block section whose marker leads to no other marker. The end must
    /// be near, because an empty block cannot prove it by decoding.
    pub fn empty_block_end(
        &self,
        position: u64,
        marker: Marker,
        file_length: u64,
    ) -> Result<Option<u64>> {
        let content = position + MARKER_LENGTH;
        let mut length = [0; BLOCK_HEADER_LENGTH as usize];
        let read = self.file.read(content, &mut length)?;
        if self.is_plain() || read < length.len() || length != [0; BLOCK_HEADER_LENGTH as usize] {
            return Ok(None);
        }
        let first = content + BLOCK_HEADER_LENGTH;
        let is_near = |end: &u64| (first..=first + MAX_EMPTY_BLOCK as u64).contains(end);
        for end in first..=first + MAX_EMPTY_BLOCK as u64 {
            let marker = self.file.marker(end)?;
            if marker.is_plausible(end, file_length) && self.file.is_good(end, &marker) {
                return Ok(Some(end));
            }
        }
        let last = Some(file_length).filter(is_near);
        Ok(last.or(Some(marker.end).filter(is_near)))
    }

    /// Returns the decoded length of a block section, or `None` if it cannot be determined.
    pub fn block_length(&mut self, physical: u64, end: u64) -> Result<Option<usize>> {
        let Some(header) = self.block_header(physical, end)? else {
            return Ok(None);
        };
        let is_said_twice = header.own_length == Some(header.length) && header.length > 0;
        if is_said_twice || header.is_empty_section() {
            return Ok(Some(header.length).filter(|length| *length <= header.max_length));
        }
        let candidates = [Some(header.length), header.own_length];
        for candidate in candidates.into_iter().flatten() {
            if candidate <= header.max_length
                && self.decode_stored(physical, end, candidate)?.is_ok()
            {
                return Ok(Some(candidate));
            }
        }
        if let Some(decoded) = self.decoded_length(physical, end)?
            && decoded <= header.max_length
            && (decoded == header.length || self.decode_stored(physical, end, decoded)?.is_ok())
        {
            return Ok(Some(decoded));
        }
        // The block is damaged, but its length may be right. Only a short block can belong to a
        // section without records.
        let least = usize::from(header.stored > MAX_EMPTY_BLOCK);
        Ok(Some(header.length).filter(|length| (least..=header.max_length).contains(length)))
    }

    fn block_header(&self, physical: u64, end: u64) -> Result<Option<BlockHeader>> {
        let Framing::Blocks(decoder) = &self.framing else {
            return Ok(None);
        };
        let mut start = [0; BLOCK_HEADER_LENGTH as usize + BLOCK_START];
        let read = self.file.read(physical, &mut start)?;
        let start = start.get(..read).unwrap_or_default();
        let stored = end.checked_sub(physical + BLOCK_HEADER_LENGTH);
        let (Some((length, block)), Some(stored)) = (start.split_first_chunk::<4>(), stored) else {
            return Ok(None);
        };
        Ok(Some(BlockHeader {
            length: u32::from_be_bytes(*length) as usize,
            own_length: decoder.stored_length(block),
            max_length: decoder.max_length(stored as usize).min(MAX_SECTION_BYTES),
            stored: stored as usize,
        }))
    }

    fn decoded_length(&mut self, physical: u64, end: u64) -> Result<Option<usize>> {
        let is_whole =
            self.allows_block(physical, end, 0)?.is_ok() && self.read_block(physical, end)?;
        let Framing::Blocks(decoder) = &mut self.framing else {
            return Ok(None);
        };
        let block = self.block.bytes.get(..self.block.length);
        Ok(block
            .filter(|_| is_whole)
            .and_then(|block| decoder.decoded_length(block)))
    }

    /// Decodes the block between two physical offsets, whose records end at the logical position
    /// `section_end`. Damaged ranges become gaps.
    ///
    /// # Errors
    /// The file cannot be read, or the key decrypts no chunk of an encrypted segment.
    pub fn decode(&mut self, physical: u64, end: u64, section_end: u64) -> Result<()> {
        let length = (section_end - self.start) as usize;
        let failure = self.decode_block(physical, end, length)?.err();
        if failure.is_some() {
            self.decode_start(physical, end, length)?;
        }
        self.gaps = self.block_gaps(section_end, failure.as_deref())?;
        self.is_sound = self.gaps.is_empty() && failure.is_none();
        if let Some(end) = self.readable_end() {
            self.length = end.saturating_sub(self.start) as usize;
        }
        Ok(())
    }

    /// Fills the buffer with the records of a block section; the inner error describes damage.
    fn decode_block(
        &mut self,
        physical: u64,
        end: u64,
        length: usize,
    ) -> Result<Result<(), String>> {
        // An empty closing section contains its compressor's output for an empty input (§2.5).
        if length == 0 {
            return Ok(Ok(()));
        }
        self.decode_stored(physical, end, length)
    }

    fn decode_stored(
        &mut self,
        physical: u64,
        end: u64,
        length: usize,
    ) -> Result<Result<(), String>> {
        if self.block.decoded == Some((physical, end, length)) {
            self.length = length;
            return Ok(Ok(()));
        }
        self.block.decoded = None;
        if let Err(refused) = self.allows_block(physical, end, length)? {
            return Ok(Err(refused.to_string()));
        }
        if !self.read_block(physical, end)? {
            return Ok(Err("the file ends inside a section".to_owned()));
        }
        let Framing::Blocks(decoder) = &mut self.framing else {
            return Ok(Ok(()));
        };
        let block = self
            .block
            .bytes
            .get(..self.block.length)
            .unwrap_or_default();
        let done = decoder.decode(block, reuse(&mut self.buffer, length));
        if done.is_ok() {
            self.length = length;
            self.block.decoded = Some((physical, end, length));
        } else {
            self.check_key(physical, end)?;
        }
        Ok(done)
    }

    /// Decodes a damaged block into the buffer as far as possible.
    fn decode_start(&mut self, physical: u64, end: u64, length: usize) -> Result<()> {
        self.block.decoded = None;
        // Records of an earlier section in the buffer would have valid checksums, too. Fresh zeros
        // take no memory until they are written, and the length may be damaged.
        self.buffer = Vec::new();
        if self.allows_block(physical, end, length)?.is_err() {
            return Ok(());
        }
        self.read_block(physical, end)?;
        let Framing::Blocks(decoder) = &mut self.framing else {
            return Ok(());
        };
        let block = self.block.bytes.get(..self.block.length);
        self.buffer = vec![0; length];
        // The error is already known: it is the reason for this call.
        let _ = decoder.decode(block.unwrap_or_default(), &mut self.buffer);
        self.length = length;
        Ok(())
    }

    /// Checks the memory limit for a block and `length` bytes of records.
    fn allows_block(&self, physical: u64, end: u64, length: usize) -> Result<Result<(), TooLarge>> {
        let stored = end.min(self.file.length()?).saturating_sub(physical);
        Ok(self.memory.allows_section(stored as usize, length))
    }

    /// Reads the block between two physical offsets; returns false if the file ends before it does.
    fn read_block(&mut self, physical: u64, end: u64) -> Result<bool> {
        let start = physical + BLOCK_HEADER_LENGTH;
        // A damaged marker may point past the end of the file.
        let stop = end.min(self.file.length()?);
        self.block.length = stop.saturating_sub(start) as usize;
        let block = reuse(&mut self.block.bytes, self.block.length);
        let read = self.file.read(start, block)?;
        Ok(read == self.block.length && stop == end)
    }
}
