//! `DeflateCompressor`: a zlib stream; decoding verifies its checksum.

use flate2::{Decompress, FlushDecompress, Status};

use super::{BlockDecoder, check_length};

/// The maximum number of bytes that zlib can decode from one stored byte.
const MAX_RATIO: usize = 1032;
const ZLIB_HEADER: bool = true;
/// Bytes decoded in each step while only the length is computed.
const STEP_BYTES: usize = 64 << 10;

pub struct Deflate(Decompress);

impl Default for Deflate {
    fn default() -> Self {
        Self(Decompress::new(ZLIB_HEADER))
    }
}

impl BlockDecoder for Deflate {
    fn max_length(&self, stored: usize) -> usize {
        stored.saturating_mul(MAX_RATIO)
    }

    fn decoded_length(&mut self, block: &[u8]) -> Option<usize> {
        // Cassandra compresses an empty input to an empty block.
        if block.is_empty() {
            return Some(0);
        }
        let mut step = vec![0; STEP_BYTES];
        self.0.reset(ZLIB_HEADER);
        loop {
            let (read, written) = (self.0.total_in(), self.0.total_out());
            let rest = block.get(read as usize..)?;
            match self.0.decompress(rest, &mut step, FlushDecompress::None) {
                Ok(Status::StreamEnd) => return Some(self.0.total_out() as usize),
                Ok(_) if (read, written) != (self.0.total_in(), self.0.total_out()) => {}
                _ => return None,
            }
        }
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        if block.is_empty() && records.is_empty() {
            return Ok(());
        }
        self.0.reset(ZLIB_HEADER);
        let status = self
            .0
            .decompress(block, records, FlushDecompress::Finish)
            .map_err(|error| format!("the zlib stream is damaged: {error}"))?;
        let written = self.0.total_out() as usize;
        match status {
            // Otherwise, a marker that points past the block would be trusted.
            Status::StreamEnd if self.0.total_in() < block.len() as u64 => {
                Err("the zlib stream is shorter than its section".to_owned())
            }
            Status::StreamEnd => check_length("zlib stream", written, records.len()),
            _ => Err("the zlib stream does not end with its section".to_owned()),
        }
    }
}
