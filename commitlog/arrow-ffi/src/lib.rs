//! Arrow arrays across the border of Python, by Arrow's C data interface: an object with
//! `__arrow_c_array__` returns two capsules, and this crate reads such capsules.
//!
//! The one place of the project with `unsafe` code: a capsule holds the address of a C structure,
//! and only the capsule's name tells its type.

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, StructArray};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Fields, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// The capsules of a schema and of an array.
pub type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// A record batch out of an object with `__arrow_c_array__`; its buffers are shared, not copied.
///
/// # Errors
/// `TypeError` for another object, `ValueError` for data that contradicts itself.
pub fn import_batch(object: &Bound<'_, PyAny>) -> PyResult<StructArray> {
    let method = object.getattr("__arrow_c_array__").map_err(|_| {
        PyTypeError::new_err("expected an Arrow record batch: the object has no __arrow_c_array__")
    })?;
    let (schema, array): Capsules<'_> = method.call0()?.extract()?;
    let data = import(&schema, &array)?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        let reason = format!("expected a record batch, not {}", data.data_type());
        return Err(PyTypeError::new_err(reason));
    }
    // Offsets are trusted from here on.
    let validated = object.py().detach(|| data.validate_full());
    validated.map_err(|error| rejected(&error))?;
    Ok(StructArray::from(data))
}

/// A record batch for an object's `__arrow_c_array__`.
///
/// # Errors
/// `ValueError` for a type that the interface lacks.
pub fn export_batch<'py>(py: Python<'py>, batch: &StructArray) -> PyResult<Capsules<'py>> {
    let (array, schema) = to_ffi(&batch.to_data()).map_err(|error| rejected(&error))?;
    Ok((
        PyCapsule::new_with_value(py, schema, SCHEMA)?,
        PyCapsule::new_with_value(py, array, ARRAY)?,
    ))
}

/// A schema for an object's `__arrow_c_schema__`.
///
/// # Errors
/// `ValueError` for a type that the interface lacks.
pub fn export_schema<'py>(py: Python<'py>, fields: &Fields) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(Schema::new(fields.clone()));
    PyCapsule::new_with_value(py, schema.map_err(|error| rejected(&error))?, SCHEMA)
}

fn import(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayData> {
    let schema = schema
        .pointer_checked(Some(SCHEMA))?
        .cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds a C schema for as long as it lives, which is as long as
    // the reference to it that is borrowed here.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: a capsule of this name holds a C array; it is moved out and marked as released, so
    // that the capsule's end does not release it again.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: both are of one `__arrow_c_array__` call, so they have to agree.
    let data = unsafe { from_ffi(array, schema) }.map_err(|error| rejected(&error))?;
    Ok(with_offsets_of_empty_arrays(data))
}

/// Replace the buffers of empty arrays. Spark 4.1 sends none for their offsets, and `from_ffi` then
/// takes the bytes that follow for the first offset.
fn with_offsets_of_empty_arrays(data: ArrayData) -> ArrayData {
    if data.is_empty() {
        return ArrayData::new_empty(data.data_type());
    }
    let children = data.child_data().iter().cloned();
    let children = children.map(with_offsets_of_empty_arrays).collect();
    let builder = data.into_builder().child_data(children);
    // SAFETY: types and lengths are the same as before; the caller validates them.
    unsafe { builder.build_unchecked() }
}

fn rejected(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
