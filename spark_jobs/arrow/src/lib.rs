//! Decodes raw Cassandra values into typed Arrow arrays, one column at a time.
//!
//! A [`Table`] knows the Arrow type of every column of a CQL table and decodes batches of raw
//! columns. A raw single-cell column contains value bytes. A raw multi-cell collection or user
//! type contains its visible elements, each with a path and a value. `docs/reference/types.md`
//! (section 6) lists the types. For bytes that do not fit their type, the error states the column,
//! the row and the type. Decoding never guesses and never panics.

mod column;
mod error;
mod input;
mod nested_types;
mod partition_key;
mod rendering;
mod table;
mod typed_column;

pub use column::{Column, Element, ListEnds, column};
pub use error::{DecodeError, Misfit};
pub use input::Bytes;
pub use rendering::Rendering;
pub use table::{Names, Table};
