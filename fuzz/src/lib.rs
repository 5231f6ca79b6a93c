//! What is fuzzed: a function for each entry point, which takes any bytes and breaks off where a
//! promise is broken.
//!
//! `libfuzzer/` drives them, guided by coverage; `tests/replay.rs` runs them over the kept corpus.

// A target panics where a promise is broken; that is all it is for.
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

/// Takes any bytes.
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

/// The header of a segment: rejected, or read within the bytes that are there.
pub fn header(data: &[u8]) {
    if let Some(length) = Descriptor::header_length(data) {
        assert!(length >= 18, "a header of {length} bytes");
        if Descriptor::parse("CommitLog-7-1.log", data).is_ok() {
            assert!(length <= data.len(), "a header longer than its bytes");
        }
    }
}

/// A schema as CQL: rejected, or read to tables that agree with themselves.
pub fn schema_text(data: &[u8]) {
    if let Ok(schema) = parse_cql(&String::from_utf8_lossy(data)) {
        assert!(
            schema.is_same(&schema.merged(&schema)),
            "merging changes it"
        );
    }
}

/// A schema as rows of `system_schema`, in JSON.
pub fn system_rows(data: &[u8]) {
    if let Ok(schema) = parse_system_rows(data) {
        assert!(
            schema.is_same(&schema.merged(&schema)),
            "merging changes it"
        );
    }
}
