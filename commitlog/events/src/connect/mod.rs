//! The formats of Kafka Connect's converters (`docs/reference/converters.md`): the schemas that
//! `JsonConverter` writes before each payload, and the text of `StringConverter`.
//!
//! The payload is the event's JSON. `encoder::key_value` wraps it in an envelope or converts it to
//! text.

mod cells;
mod named;
mod plan;
mod struct_text;
mod table;

pub(crate) use plan::{KeyValueEncoding, PartEncoding};
pub(crate) use struct_text::write_text;
