//! Converts parser errors to Python exceptions.

use commitlog_core::error::SegmentError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

pyo3::import_exception!(commitlog.errors, CorruptSegmentError);
pyo3::import_exception!(commitlog.errors, ForeignFileError);
pyo3::import_exception!(commitlog.errors, MalformedValueError);
pyo3::import_exception!(commitlog.errors, SchemaError);
pyo3::import_exception!(commitlog.errors, SegmentKeyError);
pyo3::import_exception!(commitlog.errors, UnsupportedFeatureError);

/// Converts an error. An incomplete header counts as corrupt: the agent reads a live segment only
/// once its index file lists records.
pub fn from_segment_error(error: SegmentError) -> PyErr {
    let text = error.to_string();
    match error {
        SegmentError::Corrupt { .. } | SegmentError::Incomplete { .. } => {
            CorruptSegmentError::new_err(text)
        }
        SegmentError::Foreign { .. } => ForeignFileError::new_err(text),
        SegmentError::Unsupported { .. } => UnsupportedFeatureError::new_err(text),
        SegmentError::Key { alias, .. } => SegmentKeyError::new_err((text, alias)),
        SegmentError::Io { segment, error } => match error.raw_os_error() {
            // From the number, Python selects the subclass (FileNotFoundError …).
            Some(number) => PyOSError::new_err((number, error.to_string(), segment)),
            None => PyOSError::new_err(text),
        },
    }
}

pub fn from_schema_error(error: &commitlog_core::schema::SchemaError) -> PyErr {
    SchemaError::new_err(error.to_string())
}
