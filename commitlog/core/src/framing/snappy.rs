//! `SnappyCompressor`: a raw Snappy block, which starts with its decoded length.

use snap::raw::{Decoder, decompress_len};

use super::{BlockDecoder, check_length};

/// A copy element of three bytes decodes to at most 64 bytes.
const MAX_RATIO: usize = 22;

#[derive(Default)]
pub struct Snappy(Decoder);

impl BlockDecoder for Snappy {
    fn max_length(&self, stored: usize) -> usize {
        stored.saturating_mul(MAX_RATIO)
    }

    fn stored_length(&self, start: &[u8]) -> Option<usize> {
        decompress_len(start).ok()
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        let written = self
            .0
            .decompress(block, records)
            .map_err(|error| format!("the Snappy block is damaged: {error}"))?;
        check_length("Snappy block", written, records.len())
    }
}
