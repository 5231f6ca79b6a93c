//! Avro support: schemas of tables, prepared bytes, and the binary form of CQL values
//! (`docs/reference/avro.md`).

mod plan;
pub(crate) mod time_varint;
pub(crate) mod value;

pub(crate) use plan::after_fields;
pub use plan::{AfterField, AvroPlan, ConfluentHeaders, string};
