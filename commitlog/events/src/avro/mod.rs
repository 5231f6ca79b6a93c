//! Events as Avro: the same key, value and `cells` as the JSON has, in Avro's binary form behind a
//! magic zero and the four bytes of a schema id, as Confluent's serializers write it
//! (`docs/reference/avro.md`).

mod cells;
mod context;
mod encoder;
mod ids;
mod plan;
mod schema;
mod time_varint;
mod value;

pub use context::AvroContext;
pub use encoder::AvroWriter;
pub use ids::{SchemaIds, Side, Unregistered};
pub use plan::{AvroPlan, Starts};

pub use crate::event_text::varint_bytes as varint;
