//! Bytes that Python gives.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Bytes that stay where they are without the GIL.
pub enum Input {
    Shared(PyBackedBytes),
    /// What is no `bytes` may change meanwhile.
    Copied(Vec<u8>),
}

impl Input {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

pub fn inputs(objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<Input>> {
    objects.iter().map(input).collect()
}

pub fn input(object: &Bound<'_, PyAny>) -> PyResult<Input> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Input::Shared(bytes.clone().into()));
    }
    let buffer = PyBuffer::<u8>::get(object)?;
    Ok(Input::Copied(buffer.to_vec(object.py())?))
}
