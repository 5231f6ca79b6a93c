//! Caches the results of Python callables for collections.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mongo_encoder::namespaces;
use pyo3::prelude::*;

/// At this number of results a cache is cleared, and its callable is called again.
const MAX_CACHED: usize = 10_000;

type Answers<A> = HashMap<(Box<[u8]>, Box<[u8]>), A>;

/// A callable with one or two arguments, called once for each combination of arguments.
struct AnswerCache<A> {
    ask: Py<PyAny>,
    answers: Mutex<Answers<A>>,
}

impl<A: Clone> AnswerCache<A> {
    fn new(ask: Py<PyAny>) -> Self {
        Self {
            ask,
            answers: Mutex::default(),
        }
    }

    /// Attaches to the interpreter only for uncached arguments. Propagates the exception of `ask`.
    fn answer(
        &self,
        (first, second): (&[u8], &[u8]),
        ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<A>,
    ) -> PyResult<A> {
        let key = (first.into(), second.into());
        if let Some(answer) = self.with_answers(|answers| answers.get(&key).cloned()) {
            return Ok(answer);
        }
        // The lock is not held here, because the callable may use the encoder.
        let answer = Python::attach(|py| ask(self.ask.bind(py)))?;
        self.with_answers(|answers| {
            if answers.len() >= MAX_CACHED {
                answers.clear();
            }
            answers.insert(key, answer.clone());
        });
        Ok(answer)
    }

    fn with_answers<T>(&self, work: impl FnOnce(&mut Answers<A>) -> T) -> T {
        work(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn call<'py>(
    callable: &Bound<'py, PyAny>,
    database: &[u8],
    collection: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let database = String::from_utf8_lossy(database);
    let collection = String::from_utf8_lossy(collection);
    callable.call1((database, collection))
}

/// Selects collections, topics and transformations. Without callables, all collections are
/// captured, the format determines the topics, and the first transformation applies.
pub struct Routing {
    admits: Option<AnswerCache<bool>>,
    topics: Option<AnswerCache<String>>,
    transforms: Option<AnswerCache<Option<usize>>>,
    /// The topics of event routers, by the index of the transformation.
    routes: Vec<Option<AnswerCache<String>>>,
}

impl Routing {
    pub fn new(
        admits: Option<Py<PyAny>>,
        topics: Option<Py<PyAny>>,
        transforms: Option<Py<PyAny>>,
        routes: impl Iterator<Item = Option<Py<PyAny>>>,
    ) -> Self {
        Self {
            admits: admits.map(AnswerCache::new),
            topics: topics.map(AnswerCache::new),
            transforms: transforms.map(AnswerCache::new),
            routes: routes.map(|route| route.map(AnswerCache::new)).collect(),
        }
    }
}

/// The routing of change events, or of snapshot documents, whose collections are always captured.
pub struct BatchRouting<'a> {
    pub routing: &'a Routing,
    pub is_snapshot: bool,
}

impl namespaces::Routing for BatchRouting<'_> {
    type Error = PyErr;

    fn captures(&mut self, database: &[u8], collection: &[u8]) -> PyResult<bool> {
        let admits = self.routing.admits.as_ref().filter(|_| !self.is_snapshot);
        admits.map_or(Ok(true), |cache| {
            cache.answer((database, collection), |callable| {
                call(callable, database, collection)?.is_truthy()
            })
        })
    }

    fn topic(&mut self, database: &[u8], collection: &[u8]) -> PyResult<Option<String>> {
        let topics = self.routing.topics.as_ref();
        let asked = topics.map(|cache| {
            cache.answer((database, collection), |callable| {
                call(callable, database, collection)?.extract()
            })
        });
        asked.transpose()
    }

    fn transform(&mut self, database: &[u8], collection: &[u8]) -> PyResult<Option<usize>> {
        self.routing
            .transforms
            .as_ref()
            .map_or(Ok(Some(0)), |cache| {
                cache.answer((database, collection), |callable| {
                    call(callable, database, collection)?.extract()
                })
            })
    }

    fn route(&mut self, transform: usize, value: &str) -> PyResult<String> {
        match self.routing.routes.get(transform) {
            Some(Some(cache)) => cache.answer((b"", value.as_bytes()), |callable| {
                callable.call1((value,))?.extract()
            }),
            _ => Ok(value.to_owned()),
        }
    }
}
