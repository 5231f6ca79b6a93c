//! Encodes raw BSON from MongoDB as messages: keys, values and headers in bytes
//! (`docs/reference/mongodb-event-format.md`).
//!
//! [`reply`] parses a server reply, [`fragments`] joins split events, [`stream_place`] reads tokens
//! and times of events, and [`document_id`] extracts `_id`. [`change`] parses an event into slices,
//! without building a tree. [`encoder`] fills a [`batch::MessageBatch`]: `layout` defines the
//! members of a value, `value_writer` writes them as JSON or Avro, and `wire_format` adds schemas
//! or their ids. `identity` computes event ids, and [`transaction`] counts the events of
//! transactions. [`transform`] replaces the values of a layout; `shape_cache` stores the schemas of
//! transformed values.

pub mod batch;
mod batch_builder;
pub mod bson;
mod bson_writer;
pub mod change;
pub mod document_id;
mod element;
pub mod encoder;
pub mod error;
pub mod extras;
pub mod fields;
pub mod format;
pub mod fragments;
mod identity;
pub mod json;
mod layout;
mod message_writer;
pub mod namespaces;
pub mod reply;
mod resume_token;
pub mod schemas;
mod shape_cache;
pub mod stream_place;
mod swar;
pub mod topic;
pub mod transaction;
pub mod transform;
mod value_writer;
mod wire_format;
