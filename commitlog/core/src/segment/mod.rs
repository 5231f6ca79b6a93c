//! Reads a segment forward: sync markers, logical positions, and the records of each section
//! (`CommitLogSegmentReader`, format notes §2 and §8).
//!
//! ```text
//! header | marker | records … | marker | records … | zero marker or end of file
//! ```
//!
//! Four types read a segment; each owns the previous type and does not depend on the next:
//!
//! ```text
//! SegmentFile     bytes and markers at physical offsets                    (file)
//! SectionDecoder  the records of one section, decoded into memory          (section)
//! Chain           from marker to marker, and on past damaged ones          (chain)
//! SegmentReader   a logical position that moves from record to record      (reader)
//! ```
//!
//! Positions are logical: they refer to the writer's uncompressed buffer (§2.3). Memory holds one
//! chunk of a plain section or one decoded block section, never a whole file.

mod chain;
mod file;
mod gap;
mod marker;
mod reader;
mod section;

use crate::error::SegmentError;

pub use chain::Section;
pub use file::{Tail, read_descriptor};
pub use gap::Gap;
pub(crate) use marker::MarkerChecksum;
pub use reader::{Fill, SegmentReader, Step};

pub type Result<T, E = SegmentError> = std::result::Result<T, E>;
