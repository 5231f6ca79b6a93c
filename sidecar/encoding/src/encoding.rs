//! How a key or a value is serialized.

/// The serialization of a key or a value (`key.converter`, `value.converter`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    #[default]
    Json,
    /// JSON wrapped with its schema, as Connect's `JsonConverter` writes it.
    JsonWithSchema,
    /// The schema id, followed by Avro.
    Avro,
    /// The schema id, followed by Protobuf.
    Protobuf,
    /// The text of Connect's `StringConverter`.
    Text,
}
