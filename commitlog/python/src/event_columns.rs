//! The events of a batch as Arrow columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray};
use commitlog_events::batch::EventBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Builds the columns `id`, `ts_us`, `kind` and `value`; the value of a tombstone is null.
pub fn columns(batch: &EventBatch) -> PyResult<StructArray> {
    if i32::try_from(batch.size_bytes()).is_err() {
        let reason = format!(
            "{}: a batch has {} bytes of events; an Arrow column holds at most 2147483647. Lower \
             `max_bytes`.",
            batch.segment,
            batch.size_bytes()
        );
        return Err(PyValueError::new_err(reason));
    }
    let entries = || batch.entries.iter();
    let ids: BinaryArray = entries().map(|entry| Some(entry.id)).collect();
    let times_us: Int64Array = entries().map(|entry| Some(entry.timestamp_us)).collect();
    let kinds: StringArray = entries().map(|entry| Some(entry.kind.name())).collect();
    let values: BinaryArray = entries()
        .map(|entry| (!entry.is_tombstone).then(|| batch.value(entry)))
        .collect();
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("id", Arc::new(ids), false),
        ("ts_us", Arc::new(times_us), false),
        ("kind", Arc::new(kinds), false),
        ("value", Arc::new(values), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
        .map(StructArray::from)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
