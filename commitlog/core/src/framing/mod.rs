//! How the records of a section are stored in the file (format notes §2.4 to §2.6).
//!
//! Plain sections are read in place; of the others each is one block. A compressor is one file
//! here with one line in [`Framing::of`].

mod lz4;

use crate::descriptor::Descriptor;
use crate::error::SegmentError;

/// Turns one stored block into the records of a section.
pub trait BlockDecoder: Send + Sync {
    /// The largest length that a block of `stored` bytes can decode to; a section that claims
    /// more is damaged, and nothing is allocated for it.
    fn max_length(&self, stored: usize) -> usize;

    /// The decoded length as the block itself says it, from its first 16 bytes, if it does.
    fn stored_length(&self, start: &[u8]) -> Option<usize>;

    /// Fills `records`, which has the length that the section's header gives.
    fn decode(&self, block: &[u8], records: &mut [u8]) -> Result<(), String>;
}

/// The framing of a whole segment.
pub enum Framing {
    Plain,
    Blocks(Box<dyn BlockDecoder>),
}

/// Bytes of a block section between its marker and the block: the length of its records.
pub const BLOCK_HEADER_LENGTH: u64 = 4;

impl Framing {
    /// The framing that a segment's header asks for.
    pub fn of(segment: &str, descriptor: &Descriptor) -> Result<Self, SegmentError> {
        let unsupported = |what: String| SegmentError::Unsupported {
            segment: segment.to_owned(),
            what,
        };
        if let Some((cipher, alias)) = &descriptor.encryption {
            return Err(unsupported(format!(
                "the segment is encrypted ({cipher}, key {alias}), which this release cannot read"
            )));
        }
        let Some(class) = &descriptor.compression_class else {
            return Ok(Self::Plain);
        };
        let simple_name = class
            .strip_prefix("org.apache.cassandra.io.compress.")
            .unwrap_or(class);
        match simple_name {
            "LZ4Compressor" => Ok(Self::Blocks(Box::new(lz4::Lz4))),
            _ => Err(unsupported(format!(
                "compressor {class} is not known (LZ4Compressor is)"
            ))),
        }
    }
}
