//! Turns decoded mutations into change events: key, value and headers as bytes.
//!
//! [`reader::EventReader`] reads a segment into [`batch::EventBatch`]es. `publisher` decides which
//! updates become events, in which order. `encoder` writes keys and values, `counters` tracks
//! counter shards, and `identity` computes event ids. [`tree`] prints a segment as text.
//! `docs/reference/event-format.md` describes the bytes.

mod announcements;
pub mod avro;
pub mod batch;
mod buffer_pool;
pub mod byte_comparable;
mod canonical_form;
pub mod connect;
pub mod counters;
mod digits;
mod encoder;
pub mod event;
mod event_context;
mod event_writer;
pub mod format;
mod identity;
pub mod messages;
pub mod operation;
mod partition;
mod plan;
mod protobuf;
mod publisher;
mod range_bound;
pub mod reader;
mod record_error;
mod row_cells;
pub mod schema_event;
pub mod snapshot;
mod static_fragment;
mod table_names;
mod time_text;
pub mod token;
pub mod tree;
pub mod value;
