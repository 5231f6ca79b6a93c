//! Reads Apache Cassandra commit-log segments: bytes to mutations.
//!
//! ```text
//! segment   header | marker | records … | marker | records … |        (segment, chain, descriptor)
//! record    size | CRC | payload | CRC                                (record)
//! payload   count | partition update …                                (head, mutation)
//! update    table id | key | flags | times | column names             (mutation, columns)
//!           | partition deletion | static row | rows and markers | 01 (unfiltered, row)
//! row       flags | clustering | liveness | deletion | cells          (unfiltered)
//! ```
//!
//! [`segment::SegmentReader`] gives the records of a file, [`mutation::Decoder`] reads their
//! payloads against a [`schema::Schema`], and [`dump`] prints them in the canonical form that
//! Cassandra's own reader is compared in. Nothing here knows of events or of Python.
//!
//! The section numbers in comments are those of `docs/reference/commitlog-format.md`.

mod block_damage;
mod block_section;
mod chain;
mod columns;
pub mod cql_type;
mod cursor;
pub mod descriptor;
pub mod dump;
pub mod error;
pub mod framing;
pub mod head;
mod marker;
pub mod mutation;
pub mod record;
mod recovery;
pub mod resync;
pub mod row;
pub mod scan;
pub mod schema;
pub mod segment;
pub mod source;
mod times;
mod unfiltered;
pub mod update_head;
mod value_form;
pub mod verify;
