//! Reads Apache Cassandra commit-log segments: bytes to mutations.
//!
//! ```text
//! segment   header | marker | records … | marker | records … |        (segment, descriptor)
//! record    size | CRC | payload | CRC                                (record)
//! payload   count | partition update …                                (head, mutation)
//! update    table id | key | flags | times | column names             (mutation, columns)
//!           | partition deletion | static row | rows and markers | 01 (unfiltered, row)
//! row       flags | clustering | liveness | deletion | cells          (unfiltered)
//! ```
//!
//! [`segment::SegmentReader`] reads the records of a file, [`mutation::Decoder`] their
//! payloads against a [`schema::Schema`], and [`dump`] prints them in the canonical form that
//! Cassandra's own reader is compared in. Nothing here knows of events or of Python.
//!
//! The section numbers in comments are those of `docs/reference/commitlog-format.md`.

pub mod accord;
mod columns;
pub mod cql_type;
mod cursor;
pub mod descriptor;
pub mod dump;
pub mod error;
pub mod framing;
pub mod head;
pub mod memory;
pub mod mutation;
pub mod record;
pub mod resync;
pub mod row;
pub mod scan;
pub mod schema;
pub mod schema_log;
pub mod segment;
pub mod source;
mod table_id;
mod times;
mod type_inference;
mod unfiltered;
pub mod verify;
