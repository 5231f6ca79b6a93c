//! Properties over random types and values: the byte-comparable encoding against a plain port of
//! Cassandra's comparators, and everything against bytes that fit no type.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]

mod comparator;
mod hostile;
mod keys;
mod strategies;
mod types;
