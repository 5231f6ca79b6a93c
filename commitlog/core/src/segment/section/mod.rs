//! The records of one section in memory: chunks of a plain section, or a whole decoded block.

mod block;
mod damage;
mod key_check;
mod search;

use std::collections::VecDeque;

use super::file::SegmentFile;
use super::gap::Gap;
use crate::framing::{Framing, Keys};
use crate::memory::MemoryLimit;
use crate::record::Records;
use crate::segment::Result;
use crate::source::Source;
use block::StoredBlock;

/// Bytes of each read in a plain section; only larger records need more. A chunk stays in a core's
/// private cache until it is decoded.
const CHUNK_BYTES: u64 = 256 << 10;
/// A buffer is reused unless it is this many times too large.
const MAX_SLACK: usize = 4;

/// Decodes one section at a time.
///
/// Invariant: `buffer[..length]` holds the section's bytes from the logical position `start`, as
/// the node wrote them. In a block section, they end where the first of `gaps` starts. `is_sound`
/// is true only if every record in the buffer has valid checksums.
pub(super) struct SectionDecoder<S> {
    file: SegmentFile<S>,
    framing: Framing,
    buffer: Vec<u8>,
    start: u64,
    length: usize,
    /// Stored bytes of the latest block.
    block: StoredBlock,
    /// Damaged ranges of the block section, in order.
    gaps: VecDeque<Gap>,
    is_sound: bool,
    /// Whether the rest of an encrypted segment contains no chunk for testing its key.
    has_no_trial: bool,
    pub memory: MemoryLimit,
}

impl<S: Source> SectionDecoder<S> {
    pub fn new(file: SegmentFile<S>, keys: &Keys) -> Result<Self> {
        let framing = Framing::new(file.name(), file.descriptor(), keys)?;
        Ok(Self {
            file,
            framing,
            buffer: Vec::new(),
            start: 0,
            length: 0,
            block: StoredBlock::default(),
            gaps: VecDeque::new(),
            is_sound: false,
            has_no_trial: false,
            memory: MemoryLimit::of_process(),
        })
    }

    /// Begins a section whose records start at the logical position `start`.
    pub fn begin(&mut self, start: u64) {
        self.start = start;
        self.length = 0;
        self.gaps.clear();
        self.is_sound = false;
    }

    /// Reads at least `wanted` bytes of a plain section from `position`, but not past `end`. A
    /// block section is already in memory.
    pub fn load(&mut self, position: u64, end: u64, wanted: usize) -> Result<()> {
        if !self.is_plain() {
            return Ok(());
        }
        let left = end.saturating_sub(position);
        let length = (wanted as u64).max(CHUNK_BYTES).min(left) as usize;
        self.start = position;
        self.length = 0;
        self.length = self.file.read(position, reuse(&mut self.buffer, length))?;
        Ok(())
    }

    /// Whether the section holds only zeros from `position` to `end`.
    pub fn is_zero(&self, position: u64, end: u64) -> Result<bool> {
        if self.is_plain() {
            self.file.is_zero(position, end)
        } else {
            Ok(self.bytes(position).iter().all(|byte| *byte == 0))
        }
    }

    /// Returns the end of the readable part of the section, if a damaged range follows.
    pub fn readable_end(&self) -> Option<u64> {
        self.gaps.front().map(|gap| gap.start)
    }

    /// Skips the next damaged range of a block section that ends at `section_end`; returns it and
    /// the end of the readable part after it.
    pub fn pass_gap(&mut self, section_end: u64) -> Option<(Gap, u64)> {
        let gap = self.gaps.pop_front()?;
        let end = self.readable_end().unwrap_or(section_end);
        self.length = end.saturating_sub(self.start) as usize;
        Some((gap, end))
    }

    fn read(&self, position: u64, target: &mut [u8]) -> Result<usize> {
        if self.is_plain() {
            return self.file.read(position, target);
        }
        let bytes = self.bytes(position);
        let length = bytes.len().min(target.len());
        if let (Some(slot), Some(source)) = (target.get_mut(..length), bytes.get(..length)) {
            slot.copy_from_slice(source);
        }
        Ok(length)
    }
}

impl<S> SectionDecoder<S> {
    pub fn file(&self) -> &SegmentFile<S> {
        &self.file
    }

    /// Whether the segment is stored without blocks: logical and physical positions are equal.
    pub fn is_plain(&self) -> bool {
        matches!(self.framing, Framing::Plain)
    }

    /// Returns the bytes in memory from a logical position.
    pub fn bytes(&self, position: u64) -> &[u8] {
        position
            .checked_sub(self.start)
            .and_then(|source| usize::try_from(source).ok())
            .and_then(|source| self.buffer.get(source..self.length))
            .unwrap_or_default()
    }

    /// Returns the records in memory from a logical position; the section has `left` more bytes.
    pub fn records(&self, position: u64, left: u64) -> Records<'_> {
        let records = Records::new(self.bytes(position), position, left);
        if self.is_sound {
            records.mark_checked()
        } else {
            records
        }
    }
}

/// Returns `length` bytes of a buffer with arbitrary content.
fn reuse(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length || buffer.len() > length.saturating_mul(MAX_SLACK) {
        // Otherwise, the old and the new buffer would take memory at the same time.
        *buffer = Vec::new();
        *buffer = vec![0; length];
    }
    buffer.get_mut(..length).unwrap_or_default()
}
