//! `NoopCompressor`: the uncompressed bytes.

use super::{BlockDecoder, wrong_length};

pub struct Noop;

impl BlockDecoder for Noop {
    fn max_length(&self, stored: usize) -> usize {
        stored
    }

    fn stored_length(&self, _start: &[u8]) -> Option<usize> {
        None
    }

    fn decoded_length(&mut self, block: &[u8]) -> Option<usize> {
        Some(block.len())
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        if block.len() != records.len() {
            return Err(wrong_length("stored block", block.len(), records.len()));
        }
        records.copy_from_slice(block);
        Ok(())
    }
}
