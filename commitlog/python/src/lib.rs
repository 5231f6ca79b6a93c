//! `commitlog._commitlog`: the Python bindings of the parser.
//!
//! They only convert arguments and errors, and release the GIL while Rust works. All other logic
//! belongs to the crates below.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod accord;
mod announced;
mod batch;
mod clock;
mod counters;
mod descriptor;
pub mod error;
mod event_columns;
mod format;
mod reader;
pub mod schema;
mod snapshot;
mod verification;

use pyo3::prelude::*;

#[pymodule(submodule)]
pub mod commitlog {
    #[pymodule_export]
    use crate::accord::{AccordRead, AccordReader, ColumnIds};
    #[pymodule_export]
    use crate::announced::AnnouncedSchema;
    #[pymodule_export]
    use crate::batch::{Blocked, EventBatch, Gap, LostRecords};
    #[pymodule_export]
    use crate::counters::CounterHistory;
    #[pymodule_export]
    use crate::descriptor::{Descriptor, read_descriptor};
    #[pymodule_export]
    use crate::format::EventFormat;
    #[pymodule_export]
    use crate::reader::{Scan, SegmentReader};
    #[pymodule_export]
    use crate::schema::{MetadataLogEntry, Schema, SchemaChanges, Table};
    #[pymodule_export]
    use crate::snapshot::SnapshotEncoder;
    #[pymodule_export]
    use crate::verification::Verification;
}
