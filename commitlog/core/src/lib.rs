//! Reads Apache Cassandra commit-log segments: bytes to mutations.

pub mod cql_type;
pub mod schema;
