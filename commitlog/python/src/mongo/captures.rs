//! What an encoder asks of collections: what Python callables said, remembered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mongo_encoder::namespaces;
use pyo3::prelude::*;

/// So many answers are remembered; then all are forgotten, since asking again is right too.
const MAX_REMEMBERED: usize = 10_000;

type Answers<A> = HashMap<(Box<[u8]>, Box<[u8]>), A>;

/// A callable `(database, collection) -> A`, asked once for each collection.
struct Remembered<A> {
    ask: Py<PyAny>,
    answers: Mutex<Answers<A>>,
}

impl<A: Clone> Remembered<A> {
    fn new(ask: Py<PyAny>) -> Self {
        Self {
            ask,
            answers: Mutex::default(),
        }
    }

    /// Called without the GIL, which it takes only for a collection that it has not met. An error is
    /// what the callable raised, or what `read` says of its answer.
    fn answer(
        &self,
        database: &[u8],
        collection: &[u8],
        read: fn(&Bound<'_, PyAny>) -> PyResult<A>,
    ) -> PyResult<A> {
        let key = (database.into(), collection.into());
        if let Some(answer) = self.with_answers(|answers| answers.get(&key).cloned()) {
            return Ok(answer);
        }
        // Not under the lock: the callable may do anything, also encode.
        let answer = Python::attach(|py| {
            let database = String::from_utf8_lossy(database);
            let collection = String::from_utf8_lossy(collection);
            read(&self.ask.bind(py).call1((database, collection))?)
        })?;
        self.with_answers(|answers| {
            if answers.len() >= MAX_REMEMBERED {
                answers.clear();
            }
            answers.insert(key, answer.clone());
        });
        Ok(answer)
    }

    fn with_answers<T>(&self, of: impl FnOnce(&mut Answers<A>) -> T) -> T {
        of(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Which collections are captured, and where their events go; without callables all of them, and to
/// the topics of the format.
pub struct Captures {
    admits: Option<Remembered<bool>>,
    topics: Option<Remembered<String>>,
}

impl Captures {
    pub fn new(admits: Option<Py<PyAny>>, topics: Option<Py<PyAny>>) -> Self {
        Self {
            admits: admits.map(Remembered::new),
            topics: topics.map(Remembered::new),
        }
    }

    fn topic(&self, database: &[u8], collection: &[u8]) -> PyResult<Option<String>> {
        let topics = self.topics.as_ref();
        let asked = topics.map(|of| of.answer(database, collection, |answer| answer.extract()));
        asked.transpose()
    }
}

/// For events of a stream.
pub struct OfStream<'a>(pub &'a Captures);

impl namespaces::Captures for OfStream<'_> {
    type Error = PyErr;

    fn captures(&mut self, database: &[u8], collection: &[u8]) -> PyResult<bool> {
        self.0.admits.as_ref().map_or(Ok(true), |of| {
            of.answer(database, collection, |answer| answer.is_truthy())
        })
    }

    fn topic(&mut self, database: &[u8], collection: &[u8]) -> PyResult<Option<String>> {
        self.0.topic(database, collection)
    }
}

/// For copied documents, which are those that were asked for.
pub struct OfCopy<'a>(pub &'a Captures);

impl namespaces::Captures for OfCopy<'_> {
    type Error = PyErr;

    fn captures(&mut self, _: &[u8], _: &[u8]) -> PyResult<bool> {
        Ok(true)
    }

    fn topic(&mut self, database: &[u8], collection: &[u8]) -> PyResult<Option<String>> {
        self.0.topic(database, collection)
    }
}
