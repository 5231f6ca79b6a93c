//! Converts errors of decoding and merging to Python exceptions.

use commitlog_python::error::MalformedValueError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use spark_arrow::DecodeError;
use spark_merge::MergeError;

pub fn from_decode_error(error: DecodeError) -> PyErr {
    let text = error.to_string();
    match error {
        DecodeError::Value { .. } => MalformedValueError::new_err(text),
        DecodeError::Batch { .. } => PyValueError::new_err(text),
    }
}

pub fn from_merge_error(error: MergeError) -> PyErr {
    match error {
        MergeError::Decode(error) => from_decode_error(error),
        MergeError::CounterContext { .. } => MalformedValueError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
