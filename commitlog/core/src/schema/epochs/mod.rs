//! Cluster metadata of Cassandra 6.0: each schema change has an epoch, and each partition update
//! contains the epoch of its table's latest change.
//!
//! Epochs order schema changes; write times do not, because each node writes the rows of
//! `system_schema` with its clock, and rewrites all of them when it starts.

mod definitions;
mod entry;
mod seen;
mod table_name;

pub(super) use definitions::{Definitions, NOW};
pub use entry::{EntryContent, MetadataLogEntry, SchemaStatement};
pub(super) use seen::{Awaited, Epochs, TypeDefinition};
