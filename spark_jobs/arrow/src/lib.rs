//! Raw Cassandra values as typed Arrow arrays, a whole column at a time.
//!
//! A [`Table`] knows the Arrow type of every column of a CQL table and decodes batches of raw
//! columns: value bytes for a column that is stored as one cell, and the visible elements, each a
//! path and a value, for a collection or user type that is stored cell by cell. `docs/reference/types.md`
//! (section 6) lists the types. Bytes that do not fit their type are an error that names column,
//! row and type; nothing is guessed and nothing panics.

mod arrow_type;
mod column;
mod error;
mod input;
mod partition_key;
mod rendering;
mod table;
mod typed_column;

pub use arrow_type::arrow_type;
pub use column::{Column, Element, column};
pub use error::{DecodeError, Misfit};
pub use rendering::Rendering;
pub use table::{Names, Table};
