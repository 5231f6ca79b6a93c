//! Values as a Debezium connector sent them for writes to a real server, and the rules that its
//! events do not show.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod builders;
mod composite;
mod multi_cell;
mod scalar;
