//! The tests of this crate are one program: linking takes longer than running.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod event_router;
mod extended_json;
mod fragments;
mod messages;
mod removed_fields;
mod replies;
mod topics;
mod transforms;
mod typed_transforms;
mod written;
