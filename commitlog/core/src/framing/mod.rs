//! How the records of a section are stored in the file (format notes §2.4 to §2.6).
//!
//! Plain sections are read in place; any other section is one block. Each compressor has one file
//! here and one line in [`Framing::new`]. Encryption also implements [`BlockDecoder`].

mod cipher;
mod deflate;
mod encrypted;
mod keys;
mod lz4;
mod noop;
mod snappy;
mod zstd;

pub(crate) use encrypted::{CHUNK_HEADER_LENGTH, Encrypted};
pub use keys::Keys;

use crate::descriptor::Descriptor;
use crate::error::SegmentError;

/// Turns one stored block into the records of a section.
pub(crate) trait BlockDecoder: Send {
    /// Returns the maximum decoded length of a block of `stored` bytes. A section that claims more
    /// is damaged, and no memory is allocated for it.
    fn max_length(&self, stored: usize) -> usize;

    /// Reads the decoded length from the first 16 bytes of the block, if the format stores it
    /// there.
    fn stored_length(&self, _start: &[u8]) -> Option<usize> {
        None
    }

    /// Computes a block's decoded length if the block does not store it; `None` if it is damaged.
    fn decoded_length(&mut self, _block: &[u8]) -> Option<usize> {
        None
    }

    /// Fills `records`, whose length is stored in the section's header.
    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String>;

    /// Returns the decoder if it is for encrypted blocks.
    fn encryption(&mut self) -> Option<&mut Encrypted> {
        None
    }
}

/// The framing of a whole segment.
pub(crate) enum Framing {
    Plain,
    Blocks(Box<dyn BlockDecoder>),
}

/// Bytes between the marker of a block section and its block: the length of its records.
pub(crate) const BLOCK_HEADER_LENGTH: u64 = 4;
/// Cassandra's package for compressor names without a dot.
const PACKAGE: &str = "org.apache.cassandra.io.compress.";

impl Framing {
    /// Selects the framing by a segment's header; encryption overrides compression (§1.3).
    pub fn new(segment: &str, descriptor: &Descriptor, keys: &Keys) -> Result<Self, SegmentError> {
        if let Some(encryption) = &descriptor.encryption {
            let decoder = Encrypted::new(segment, encryption, keys)?;
            return Ok(Self::Blocks(Box::new(decoder)));
        }
        let Some(class) = &descriptor.compression_class else {
            return Ok(Self::Plain);
        };
        Ok(Self::Blocks(
            match class.strip_prefix(PACKAGE).unwrap_or(class) {
                "LZ4Compressor" => Box::new(lz4::Lz4),
                "SnappyCompressor" => Box::new(snappy::Snappy::default()),
                "DeflateCompressor" => Box::new(deflate::Deflate::default()),
                "ZstdCompressor" => Box::new(zstd::Zstd::default()),
                "NoopCompressor" => Box::new(noop::Noop),
                _ => {
                    return Err(SegmentError::Unsupported {
                        segment: segment.to_owned(),
                        reason: format!(
                            "compressor {class} is not supported (LZ4Compressor, SnappyCompressor, \
                             DeflateCompressor, ZstdCompressor and NoopCompressor are)"
                        ),
                    });
                }
            },
        ))
    }
}

/// Fails if a decoded length differs from the stored length.
fn check_length(subject: &str, decoded: usize, wanted: usize) -> Result<(), String> {
    if decoded == wanted {
        return Ok(());
    }
    Err(format!(
        "the {subject} decodes to {decoded} bytes instead of {wanted}"
    ))
}
