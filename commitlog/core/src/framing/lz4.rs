//! `LZ4Compressor`: the decoded length in little-endian order, then one raw LZ4 block.

use super::{BlockDecoder, check_length};

const LENGTH_BYTES: usize = 4;
/// The maximum number of bytes that LZ4 can decode from one stored byte.
pub const MAX_RATIO: usize = 255;

pub struct Lz4;

impl BlockDecoder for Lz4 {
    fn max_length(&self, stored: usize) -> usize {
        stored.saturating_mul(MAX_RATIO)
    }

    fn stored_length(&self, start: &[u8]) -> Option<usize> {
        let (length, _) = start.split_first_chunk::<LENGTH_BYTES>()?;
        Some(u32::from_le_bytes(*length) as usize)
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        let Some((_, block)) = block.split_first_chunk::<LENGTH_BYTES>() else {
            return Err("the LZ4 block is truncated".to_owned());
        };
        let written = lz4_flex::block::decompress_into(block, records)
            .map_err(|error| format!("the LZ4 block is damaged: {error}"))?;
        check_length("LZ4 block", written, records.len())
    }
}
