//! `sidecar.encoding`, and Rust code that the bindings of both encoders share.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

pub mod choices;
pub mod messages;
pub mod schema_ids;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod encoding {
    #[pymodule_export]
    use crate::schema_ids::{SchemaIds, Unregistered};
}
