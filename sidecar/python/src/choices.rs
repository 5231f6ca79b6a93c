//! Parses arguments that allow one of several words.

use event_encoding::avro_names::NameAdjustment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The modes for adjusting names that Avro rejects.
pub const NAMES: [(&str, NameAdjustment); 3] = [
    ("none", NameAdjustment::None),
    ("avro", NameAdjustment::Avro),
    ("avro_unicode", NameAdjustment::AvroUnicode),
];

/// Returns the choice with this name. Raises ValueError for unknown names.
pub fn choose<T: Copy>(argument: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| unknown(argument, name))
}

pub fn unknown(argument: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{value}\" is not known"))
}
