//! `id_document`: extracts the `_id` of a raw document.

use mongo_encoder::document_id;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Extracts `{_id: …}` from a raw document, byte for byte.
#[pyfunction]
pub fn id_document<'py>(py: Python<'py>, document: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    document_id::id_document(document)
        .map(|id| PyBytes::new(py, &id))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
