//! Turns raw BSON of MongoDB into change events: key, value and headers as bytes.
//!
//! [`bson`] reads bytes where they lie, [`json`] writes them as Java's driver does, [`change`] finds
//! in an event of a change stream what a message needs, `layout` says what values hold and `form` how it is written,
//! `schemas` and `frame` what stands around them, `identity` makes event ids, [`transaction`] counts the events of transactions, and [`encoder`] fills a [`batch::EventBatch`]. No tree is built on the way. What
//! the bytes look like is in `docs/reference/mongodb-event-format.md`.

pub mod batch;
pub mod bson;
pub mod change;
pub mod encoder;
pub mod error;
pub mod fields;
mod filling;
mod form;
pub mod format;
pub mod fragments;
mod frame;
mod framed;
mod heartbeat;
mod identity;
pub mod json;
mod layout;
pub mod namespaces;
pub mod position;
pub mod reply;
pub mod schemas;
mod token;
pub mod transaction;
mod writing;
