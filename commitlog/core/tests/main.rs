//! The tests of this crate are one program: linking takes longer than running.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod schema_ddl;
mod schema_expansion;
mod schema_recorded;
mod schema_round_trip;
mod schema_system_rows;
mod schema_types;
mod segment_chunks;
mod segment_memory;
mod segment_searches;
mod segments;
mod table_changes;
