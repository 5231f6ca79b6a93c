//! `LinearPattern`: regular expressions of the `regex` crate, which never backtracks.

use std::collections::HashMap;

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use regex::{Error, Regex, RegexBuilder};

/// Enough for 600 repetitions of Unicode's `\w`; names contain at most 320 characters.
const MAX_BYTES: usize = 32 << 20;

/// A regular expression with the method names of `re.Pattern` where the meaning is equal.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct LinearPattern {
    plain: Regex,
    whole: Regex,
}

#[pymethods]
impl LinearPattern {
    #[new]
    #[pyo3(signature = (pattern, *, ignores_case = false))]
    fn new(pattern: &str, ignores_case: bool) -> PyResult<Self> {
        let compiled = |pattern: &str| {
            RegexBuilder::new(pattern)
                .case_insensitive(ignores_case)
                .size_limit(MAX_BYTES)
                .build()
                .map_err(|error| match error {
                    Error::CompiledTooBig(_) => PyOverflowError::new_err(error.to_string()),
                    _ => PyValueError::new_err(error.to_string()),
                })
        };
        Ok(Self {
            // Compiled first without the group, which would make `a)(b` valid.
            plain: compiled(pattern)?,
            whole: compiled(&format!("^(?:{pattern})$"))?,
        })
    }

    #[getter]
    fn groups(&self) -> usize {
        self.plain.captures_len() - 1
    }

    #[getter]
    fn groupindex(&self) -> HashMap<&str, usize> {
        let names = self.plain.capture_names().enumerate();
        names
            .filter_map(|(number, name)| Some((name?, number)))
            .collect()
    }

    fn fullmatch(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }

    fn replace_first(&self, text: &str, replacement: &str) -> String {
        self.plain.replace(text, replacement).into_owned()
    }
}
