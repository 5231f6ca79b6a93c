//! Encodes raw BSON of MongoDB as messages: key, value and headers as bytes
//! (`docs/reference/mongodb-event-format.md`).
//!
//! [`reply`] parses a reply of the server, [`fragments`] joins split events, and [`stream_place`]
//! reads tokens and times of events, [`document_id`] the `_id` of documents. [`change`] parses an
//! event into slices; no tree is built.
//! [`encoder`] fills a [`batch::MessageBatch`]: `layout` defines the members of a value,
//! `value_writer` writes them as JSON or Avro, `wire_format` adds schemas and their ids, `identity`
//! makes event ids, and [`transaction`] counts the events of transactions. [`transform`] writes
//! other values instead of those of a layout; `shape_cache` has their schemas.

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
mod heartbeat;
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
