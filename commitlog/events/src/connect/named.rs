//! Named schemas: Debezium's semantic types and this project's records.

use event_encoding::connect::{Schema, Shape};

/// Namespace of records that Debezium does not define.
const OURS: &str = "cdc_sidecar";

/// Builds a schema with one of Debezium's semantic types.
pub fn meaning(shape: Shape, name: &str) -> Schema {
    Schema::new(shape).named(name).versioned(1)
}

/// Builds the schema of a UUID as text.
pub fn uuid() -> Schema {
    meaning(Shape::String, "io.debezium.data.Uuid")
}

/// Builds a record in this project's namespace.
pub fn ours(name: &str, fields: Vec<(&str, Schema)>) -> Schema {
    Schema::structure(fields).named(format!("{OURS}.{name}"))
}
