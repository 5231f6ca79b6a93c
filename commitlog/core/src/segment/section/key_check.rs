//! Checks whether the key of an encrypted segment is right.
//!
//! A wrong key and a damaged block look alike: neither decodes. The key is right if it decrypts any
//! chunk of the segment.

use super::SectionDecoder;
use super::block::BLOCK_START;
use crate::error::SegmentError;
use crate::framing::{BLOCK_HEADER_LENGTH, CHUNK_HEADER_LENGTH, Encrypted, Framing};
use crate::segment::Result;
use crate::segment::marker::MARKER_LENGTH;
use crate::source::Source;

/// Number of chunks to try before a key counts as wrong.
const MAX_KEY_TRIALS: usize = 1024;

impl<S: Source> SectionDecoder<S> {
    /// Fails if the block between two physical offsets did not decode because the key is wrong.
    pub(super) fn check_key(&mut self, physical: u64, end: u64) -> Result<()> {
        let Some(encrypted) = self.encrypted() else {
            return Ok(());
        };
        if encrypted.is_key_proven() {
            return Ok(());
        }
        let alias = encrypted.alias().to_owned();
        let mut trials = 0;
        if self.opens_a_chunk(physical + BLOCK_HEADER_LENGTH, end, &mut trials)? {
            return Ok(());
        }
        let length = self.file.length()?;
        let mut position = self.file.descriptor().length;
        while !self.has_no_trial && position + MARKER_LENGTH <= length && trials < MAX_KEY_TRIALS {
            let marker = self.file.marker(position)?;
            if !marker.is_plausible(position, length) || !self.file.is_good(position, &marker) {
                let Some(next) = self.file.find_marker(position + 1, length)? else {
                    break;
                };
                position = next;
                continue;
            }
            let chunks = position + MARKER_LENGTH + BLOCK_HEADER_LENGTH;
            if self.opens_a_chunk(chunks, marker.end, &mut trials)? {
                return Ok(());
            }
            position = marker.end;
        }
        if trials == 0 {
            // Otherwise, each later block that cannot be decoded would search the whole file again.
            self.has_no_trial = true;
            return Ok(());
        }
        Err(SegmentError::Key {
            segment: self.file.name().to_owned(),
            alias,
            reason: "is wrong: it decrypts no chunk of the segment".to_owned(),
        })
    }

    /// Whether the key decrypts any chunk between two physical offsets.
    fn opens_a_chunk(&mut self, start: u64, end: u64, trials: &mut usize) -> Result<bool> {
        let mut position = start;
        while position < end && *trials < MAX_KEY_TRIALS {
            let mut start = [0; CHUNK_HEADER_LENGTH + BLOCK_START];
            let read = self.file.read(position, &mut start)?;
            let Some((length, _)) = start.split_first_chunk::<4>() else {
                break;
            };
            let length = u64::from(u32::from_be_bytes(*length));
            let next = position + CHUNK_HEADER_LENGTH as u64 + length;
            let wanted = start.len().min((next - position) as usize);
            if next > end || read < wanted {
                break;
            }
            let cipher_text = start.get(CHUNK_HEADER_LENGTH..wanted).unwrap_or_default();
            *trials += 1;
            if let Some(encrypted) = self.encrypted()
                && encrypted.prove_key(cipher_text)
            {
                return Ok(true);
            }
            position = next;
        }
        Ok(false)
    }

    fn encrypted(&mut self) -> Option<&mut Encrypted> {
        match &mut self.framing {
            Framing::Plain => None,
            Framing::Blocks(decoder) => decoder.encryption(),
        }
    }
}
