//! Reads Apache Cassandra commit-log segments and decodes their mutations.
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
//! [`segment::SegmentReader`] reads the records of a file. [`mutation::Decoder`] decodes payloads
//! with a [`schema::Schema`], and [`dump`] prints them in a canonical form for comparisons with
//! Cassandra's own reader. This crate depends neither on events nor on Python.
//!
//! Section numbers in comments refer to `docs/reference/commitlog-format.md`.

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
