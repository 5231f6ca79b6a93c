//! How the records of a section are stored in the file (format notes §2.4 to §2.6).
//!
//! Plain sections are read in place; of the others each is one block. A compressor is one file
//! here with one line in [`Framing::new`], and encryption is one more [`BlockDecoder`].

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
    /// The largest length that a block of `stored` bytes can decode to; a section that claims
    /// more is damaged, and nothing is allocated for it.
    fn max_length(&self, stored: usize) -> usize;

    /// The decoded length in the first 16 bytes of the block, if the format stores it there.
    fn stored_length(&self, start: &[u8]) -> Option<usize>;

    /// The decoded length of a whole block that does not store it at its start; `None` when the
    /// block is damaged.
    fn decoded_length(&mut self, _block: &[u8]) -> Option<usize> {
        None
    }

    /// Fills `records`, which has the length in the section's header.
    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String>;

    /// What an encrypted block needs besides.
    fn encryption(&mut self) -> Option<&mut Encrypted> {
        None
    }
}

/// The framing of a whole segment.
pub(crate) enum Framing {
    Plain,
    Blocks(Box<dyn BlockDecoder>),
}

/// Bytes of a block section between its marker and the block: the length of its records.
pub(crate) const BLOCK_HEADER_LENGTH: u64 = 4;
/// The package that Cassandra takes compressors from whose name has no dot.
const PACKAGE: &str = "org.apache.cassandra.io.compress.";

impl Framing {
    /// The framing that a segment's header asks for; encryption goes before compression (§1.3).
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

/// The error of a block that decodes to another length than its section's header has.
fn wrong_length(subject: &str, decoded: usize, wanted: usize) -> String {
    format!("the {subject} decodes to {decoded} bytes instead of {wanted}")
}
