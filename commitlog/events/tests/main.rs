//! The tests of this crate are one program: linking takes longer than running.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::float_cmp
)]

mod snapshot;
mod value_json;
mod value_properties;
mod value_text;
