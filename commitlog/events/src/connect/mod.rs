//! What Kafka Connect's own converters need of a table (`docs/reference/converters.md`): the schemas
//! that `JsonConverter` writes before each payload and that Confluent's Avro converter registers, and
//! the text of `StringConverter`.
//!
//! The payload is the JSON of the event. `encoder::key_value` writes the envelope around it or
//! converts it.

mod cells;
mod named;
mod plan;
mod struct_text;
mod table;

pub(crate) use plan::{KeyValueEncoding, PartEncoding};
pub(crate) use struct_text::write_text;
