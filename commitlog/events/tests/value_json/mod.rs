//! Values as a Debezium connector sent them for writes to a real server, and the rules that its
//! events do not show.

pub mod builders;
mod composite;
mod multi_cell;
mod scalar;
