//! Cluster metadata of Cassandra 6.0: each schema change has an epoch, and each partition update
//! names the epoch of its table.

mod entry;

pub use entry::{EntryContent, MetadataLogEntry, SchemaStatement};
