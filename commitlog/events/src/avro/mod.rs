//! Events as Avro: the key, value and `cells` of the JSON in Avro's binary form, after the header
//! of Confluent's serializers (`docs/reference/avro.md`).

mod cells;
mod context;
mod encoder;
mod plan;
mod schema;
mod time_varint;
mod value;

pub use context::AvroContext;
pub use encoder::AvroWriter;
pub use plan::{AvroPlan, ConfluentHeaders};
