//! Which collections an encoder captures: what a Python callable said, remembered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

/// So many answers are remembered; then all are forgotten, since asking again is right too.
const MAX_REMEMBERED: usize = 10_000;

type Answers = HashMap<(Box<[u8]>, Box<[u8]>), bool>;

pub struct Captures {
    /// `(database, collection) -> bool`
    ask: Py<PyAny>,
    answers: Mutex<Answers>,
}

impl Captures {
    pub fn new(ask: Py<PyAny>) -> Self {
        Self {
            ask,
            answers: Mutex::default(),
        }
    }

    /// Called without the GIL, which it takes only for a collection that it has not met. An error is
    /// what the callable raised.
    pub fn admits(&self, database: &[u8], collection: &[u8]) -> PyResult<bool> {
        let key = (database.into(), collection.into());
        if let Some(answer) = self.with_answers(|answers| answers.get(&key).copied()) {
            return Ok(answer);
        }
        // Not under the lock: the callable may do anything, also encode.
        let answer = Python::attach(|py| {
            let database = String::from_utf8_lossy(database);
            let collection = String::from_utf8_lossy(collection);
            self.ask.bind(py).call1((database, collection))?.is_truthy()
        })?;
        self.with_answers(|answers| {
            if answers.len() >= MAX_REMEMBERED {
                answers.clear();
            }
            answers.insert(key, answer);
        });
        Ok(answer)
    }

    fn with_answers<T>(&self, of: impl FnOnce(&mut Answers) -> T) -> T {
        of(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
