//! Fuzz targets, one function for each entry point. Each takes arbitrary bytes and panics if a
//! guarantee is violated.
//!
//! `libfuzzer/` drives them, guided by coverage; `tests/replay.rs` replays the stored corpus.

// Panics are the only way in which a target reports a violation.
#![allow(clippy::missing_panics_doc)]

mod chain;
pub mod every_bit;
pub mod framing;
mod merge;
mod mongo;
mod mongo_checks;
mod mongo_reply;
mod payload;
mod segment;

use commitlog_core::descriptor::Descriptor;
use commitlog_core::schema::{parse_cql, parse_system_rows};

pub use chain::chain;
pub use merge::merge;
pub use mongo::mongo;
pub use mongo_reply::mongo_reply;
pub use payload::payload;

/// A target takes arbitrary bytes.
pub type Target = fn(&[u8]);

/// Name and function of every target.
pub const TARGETS: [(&str, Target); 8] = [
    ("header", header),
    ("chain", chain),
    ("payload", payload),
    ("merge", merge),
    ("mongo", mongo),
    ("mongo_reply", mongo_reply),
    ("schema_text", schema_text),
    ("system_rows", system_rows),
];

/// Checks that a segment header is rejected, or parsed within the given bytes.
pub fn header(data: &[u8]) {
    if let Some(length) = Descriptor::header_length(data) {
        assert!(length >= 18, "a header of {length} bytes");
        if Descriptor::parse("CommitLog-7-1.log", data).is_ok() {
            assert!(length <= data.len(), "a header longer than the given bytes");
        }
    }
}

/// Checks that a CQL schema is rejected, or does not change when merged with itself.
pub fn schema_text(data: &[u8]) {
    if let Ok(schema) = parse_cql(&String::from_utf8_lossy(data)) {
        assert!(
            schema.is_same(&schema.merged(&schema)),
            "merging changes the schema"
        );
    }
}

/// Checks the guarantee of [`schema_text`] for a schema in JSON rows of `system_schema`.
pub fn system_rows(data: &[u8]) {
    if let Ok(schema) = parse_system_rows(data) {
        assert!(
            schema.is_same(&schema.merged(&schema)),
            "merging changes the schema"
        );
    }
}
