//! Named schemas: Debezium's semantic types, and records of this project.

use event_encoding::connect::{Schema, Shape};

/// Namespace of records that Debezium does not have.
const OURS: &str = "cdc_sidecar";

/// A type with a semantic type of Debezium.
pub fn meaning(shape: Shape, name: &str) -> Schema {
    Schema::new(shape).named(name).versioned(1)
}

/// A UUID as text.
pub fn uuid() -> Schema {
    meaning(Shape::String, "io.debezium.data.Uuid")
}

/// A record of this project.
pub fn ours(name: &str, fields: Vec<(&str, Schema)>) -> Schema {
    Schema::structure(fields).named(format!("{OURS}.{name}"))
}
