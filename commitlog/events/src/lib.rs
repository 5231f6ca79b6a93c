//! Turns decoded mutations into change events: key, value and headers as bytes.
//!
//! [`reader::EventReader`] goes through a segment and fills [`batch::EventBatch`]es; `publisher`
//! decides what is published and in which order, `encoder` writes Debezium's envelope, `cells` the
//! member that an exact merge needs, `counters` the shards of counters, and `identity` the event id; [`structure`] shows what a segment consists of. What the bytes look like is in
//! `docs/reference/event-format.md`.

pub mod avro;
pub mod batch;
pub mod byte_comparable;
mod cells;
pub mod connect;
pub mod counters;
mod encoder;
pub mod event;
mod event_context;
mod event_text;
mod fixed_text;
pub mod format;
mod identity;
mod partition;
mod plan;
mod publisher;
mod range_bound;
pub mod reader;
mod refusal;
mod row_cells;
pub mod snapshot;
mod spare_room;
pub mod structure;
mod table_names;
mod time_text;
pub mod token;
pub mod value;
