//! Properties over random types and values: the byte-comparable encoding against a plain port of
//! Cassandra's comparators, and everything against bytes that fit no type.

mod comparator;
mod hostile;
mod keys;
mod strategies;
mod types;
