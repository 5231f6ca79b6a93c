//! Code that the encoders of Cassandra and MongoDB events share.
//!
//! [`partition_hash`] chooses Kafka partitions, and [`blake3_batch`] hashes event ids. [`avro`]
//! writes the binary encoding, [`avro_names`] and [`topic_names`] adjust names, and [`schema_ids`]
//! stores the ids of a registry. [`connect`] defines Kafka Connect schemas, [`messages`] batches of
//! messages, and [`ndjson`] their text.

pub mod avro;
pub mod avro_names;
pub mod blake3_batch;
pub mod calendar;
pub mod connect;
pub mod encoding;
pub mod messages;
pub mod ndjson;
pub mod partition_hash;
pub mod schema_ids;
pub mod topic_names;
