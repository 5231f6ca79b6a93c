//! `ZstdCompressor`: one Zstandard frame. Decoding verifies the frame's content checksum, which
//! Cassandra always writes.

use std::io;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::{BlockDecoder, check_length};

/// A block of four bytes can repeat one byte to fill 128 KiB.
const MAX_RATIO: usize = 32 << 10;

/// The context is created for the first block and then reused.
#[derive(Default)]
pub struct Zstd(Option<Decompressor<'static>>);

impl Zstd {
    fn context(&mut self) -> io::Result<&mut Decompressor<'static>> {
        match &mut self.0 {
            Some(context) => Ok(context),
            empty => Ok(empty.insert(Decompressor::new()?)),
        }
    }
}

impl BlockDecoder for Zstd {
    fn max_length(&self, stored: usize) -> usize {
        stored.saturating_mul(MAX_RATIO)
    }

    fn stored_length(&self, start: &[u8]) -> Option<usize> {
        let length = get_frame_content_size(start).ok()??;
        usize::try_from(length).ok()
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        let written = self
            .context()
            .and_then(|context| context.decompress_to_buffer(block, records))
            .map_err(|error| format!("the Zstandard frame is damaged: {error}"))?;
        check_length("Zstandard frame", written, records.len())
    }
}
