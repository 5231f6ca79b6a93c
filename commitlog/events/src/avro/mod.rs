//! Avro support: schemas of tables, prepared bytes, and the binary form of CQL values
//! (`docs/reference/avro.md`).

mod plan;
mod schema;
pub(crate) mod time_varint;
pub(crate) mod value;

pub(crate) use plan::after_fields;
pub use plan::{AvroPlan, ConfluentHeaders, string};
pub use schema::AfterField;
