//! What the encoders of Cassandra's and MongoDB's events share.
//!
//! [`partition_hash`] chooses Kafka partitions, [`blake3_batch`] hashes event ids. [`avro`] has the
//! binary form and the header of Confluent's serializers, [`schema_ids`] the ids that a registry
//! assigned, [`avro_names`] the names that Avro accepts, [`topic_names`] those of topics, [`connect`]
//! the schemas of Kafka Connect, [`messages`] what batches have in common, and [`ndjson`] their text.

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
