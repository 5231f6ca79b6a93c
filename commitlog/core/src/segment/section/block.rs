//! Sections that are stored as one block: how long they are, and their records
//! (format notes §2.5, §2.6).
//!
//! ```text
//! marker | L: 4 | block        L bytes of records when it is decoded
//! ```
//!
//! No checksum covers L, and all later positions depend on it. So L is trusted if the block
//! has the same length or decodes to it.

use super::{SectionDecoder, reuse};
use crate::framing::{BLOCK_HEADER_LENGTH, Framing};
use crate::memory::TooLarge;
use crate::segment::Result;
use crate::segment::marker::{MARKER_LENGTH, Marker};
use crate::source::Source;

/// Bytes of a block that may contain its decoded length.
pub(super) const BLOCK_START: usize = 16;
/// A compressor makes no more than this of nothing.
const MAX_EMPTY_BLOCK: usize = 16;
/// Bytes of the records of one section. Cassandra's buffer for a section has the size of a segment, 32 MiB
/// unless `commitlog_segment_size` differs; without a bound 64 KiB of Zstandard take 2 GiB.
const MAX_SECTION_BYTES: usize = 512 << 20;

/// The bytes of one block as they are stored.
#[derive(Default)]
pub(super) struct StoredBlock {
    bytes: Vec<u8>,
    length: usize,
    /// What the reader's buffer holds decoded: physical start, end, and length of the records.
    decoded: Option<(u64, u64, usize)>,
}

/// The start of a block section.
struct BlockHeader {
    /// Bytes of the records, by the section.
    length: usize,
    /// Bytes of the records by the block, if the block has them.
    own_length: Option<usize>,
    max_length: usize,
    /// Bytes of the block.
    stored: usize,
}

impl BlockHeader {
    /// Whether this closes a segment (§2.5): no records, and a block as compressors make it of
    /// nothing.
    fn is_empty_section(&self) -> bool {
        self.length == 0 && self.own_length.unwrap_or(0) == 0 && self.stored <= MAX_EMPTY_BLOCK
    }
}

impl<S: Source> SectionDecoder<S> {
    /// Whether a whole block lies between two physical offsets, of the length that its section's
    /// header gives.
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

    /// Where an empty block section ends whose marker leads to no other: at the next marker if it
    /// is near enough, since there is nothing to decode as a proof.
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

    /// The decoded length of a block section; `None` when it cannot be known.
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
        // The block is damaged; its length need not be. A short one of a section
        // without records is one of nothing.
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
    /// `section_end`. What is damaged becomes gaps.
    ///
    /// # Errors
    /// The file cannot be read, or an encrypted segment has no chunk that its key opens.
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

    /// Fills the buffer with the records of a block section; the inner error is damage.
    fn decode_block(
        &mut self,
        physical: u64,
        end: u64,
        length: usize,
    ) -> Result<Result<(), String>> {
        // An empty closing section carries whatever its compressor makes of nothing (§2.5).
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

    /// Decodes a damaged block into the buffer as far as it goes.
    fn decode_start(&mut self, physical: u64, end: u64, length: usize) -> Result<()> {
        self.block.decoded = None;
        // What an earlier section left in the buffer would have good checksums too. Fresh zeros take
        // no memory before they are written to, and the length may be a damaged one.
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
        // The error is known: it is why this is done.
        let _ = decoder.decode(block.unwrap_or_default(), &mut self.buffer);
        self.length = length;
        Ok(())
    }

    /// Whether the memory of this process is enough for a block and `length` bytes of records.
    fn allows_block(&self, physical: u64, end: u64, length: usize) -> Result<Result<(), TooLarge>> {
        let stored = end.min(self.file.length()?).saturating_sub(physical);
        Ok(self.memory.allows_section(stored as usize, length))
    }

    /// Reads the block between two physical offsets; false when the file ends before.
    fn read_block(&mut self, physical: u64, end: u64) -> Result<bool> {
        let start = physical + BLOCK_HEADER_LENGTH;
        // A damaged marker may claim more than the file has.
        let stop = end.min(self.file.length()?);
        self.block.length = stop.saturating_sub(start) as usize;
        let block = reuse(&mut self.block.bytes, self.block.length);
        let read = self.file.read(start, block)?;
        Ok(read == self.block.length && stop == end)
    }
}
