//! Cluster metadata of Cassandra 6.0: each schema change has an epoch, and each partition update
//! names the epoch at which its table had changed last.
//!
//! Write times do not order schema changes: each node writes the rows of `system_schema` by its
//! own clock, and writes all of them again at its start. Epochs do.

mod definitions;
mod entry;
mod seen;
mod table_name;

pub(super) use definitions::NOW;
pub use entry::{EntryContent, MetadataLogEntry, SchemaStatement};
pub(super) use seen::{Awaited, Epochs, TypeDefinition};
