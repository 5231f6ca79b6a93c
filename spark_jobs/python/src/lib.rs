//! `spark_jobs._rows`: typed rows and merging, through Arrow's C data interface.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod error;
mod merger;
mod row_decoder;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod spark {
    #[pymodule_export]
    use crate::merger::{EventIntake, MergeSession, TableMerger};
    #[pymodule_export]
    use crate::row_decoder::{RowBatch, RowDecoder};
}
