//! Events as Kafka Connect's own converters write them (`docs/reference/converters.md`): schemas that
//! `JsonConverter` writes in front of each message, those that Confluent's Avro converter
//! registers, and the text of `StringConverter`.
//!
//! The payload is the JSON of every event; `writer` puts around it, or makes of it, what a side of
//! a message asks for.

mod cells;
mod plan;
mod struct_text;
mod table;
mod writer;

pub(crate) use plan::Sides;
pub(crate) use writer::{LastOpening, SideWriter};
