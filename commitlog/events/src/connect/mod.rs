//! What Kafka Connect's own converters make of schemas: `JsonConverter` beside each message,
//! Confluent's Avro converter in the registry.

mod avro;
mod schema;

pub use schema::{Schema, Shape};
