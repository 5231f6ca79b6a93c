//! `NoopCompressor`: the uncompressed bytes.

use super::{BlockDecoder, check_length};

pub struct Noop;

impl BlockDecoder for Noop {
    fn max_length(&self, stored: usize) -> usize {
        stored
    }

    fn decoded_length(&mut self, block: &[u8]) -> Option<usize> {
        Some(block.len())
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        check_length("stored block", block.len(), records.len())?;
        records.copy_from_slice(block);
        Ok(())
    }
}
