//! Reads the bytes of Python objects.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Bytes that are valid while detached from the interpreter.
pub enum Input {
    Shared(PyBackedBytes),
    /// Buffers other than `bytes` may change, so they are copied.
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
