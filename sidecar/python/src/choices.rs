//! Arguments that are one of several words.

use event_encoding::avro_names::NameAdjustment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How names that Avro rejects are adjusted.
pub const NAMES: [(&str, NameAdjustment); 3] = [
    ("none", NameAdjustment::None),
    ("avro", NameAdjustment::Avro),
    ("avro_unicode", NameAdjustment::AvroUnicode),
];

/// The choice of this name.
pub fn choose<T: Copy>(argument: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| unknown(argument, name))
}

pub fn unknown(argument: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{value}\" is not known"))
}
