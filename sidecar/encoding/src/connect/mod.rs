//! Schemas of Kafka Connect, as `JsonConverter` writes them before a payload and as Confluent's
//! Avro converter registers them.

mod avro;
mod schema;

pub use schema::{Schema, Shape};

/// Ends a message that begins with [`Schema::json_envelope`].
pub const JSON_ENVELOPE_END: &[u8; 1] = b"}";

/// The markers of snapshot events, in every layout.
pub const SNAPSHOT_MARKERS: &str =
    "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental";

impl Schema {
    /// Returns `{"schema":…,"payload":`, which `JsonConverter` writes before a payload.
    pub fn json_envelope(&self) -> Vec<u8> {
        format!("{{\"schema\":{},\"payload\":", self.json()).into_bytes()
    }
}
