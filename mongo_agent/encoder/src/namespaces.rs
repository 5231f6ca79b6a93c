//! The collections that a batch has met, each looked up but once.

use std::collections::HashMap;
use std::convert::Infallible;

use crate::batch::Topic;
use crate::fields::CollectionRules;
use crate::format::EventFormat;

/// Which collections are captured, and where their events go.
pub trait Captures {
    type Error;

    /// Asked at most once a batch for each collection. An error is that of the whole call.
    fn captures(&mut self, database: &[u8], collection: &[u8]) -> Result<bool, Self::Error>;

    /// The topic, asked as often; None: that of the format.
    fn topic(
        &mut self,
        _database: &[u8],
        _collection: &[u8],
    ) -> Result<Option<String>, Self::Error> {
        Ok(None)
    }
}

impl<E, F: FnMut(&[u8], &[u8]) -> Result<bool, E>> Captures for F {
    type Error = E;

    fn captures(&mut self, database: &[u8], collection: &[u8]) -> Result<bool, E> {
        self(database, collection)
    }
}

/// All collections are captured.
#[derive(Debug, Clone, Copy)]
pub struct Everything;

impl Captures for Everything {
    type Error = Infallible;

    fn captures(&mut self, _: &[u8], _: &[u8]) -> Result<bool, Infallible> {
        Ok(true)
    }
}

/// What is known of a collection while a batch is made.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub is_captured: bool,
    pub rules: CollectionRules,
    /// The topic where it is not that of the format.
    name: Option<String>,
    /// Among the batch's topics; there from the first message on.
    topic: Option<usize>,
}

/// Found by a number; most events are of the collection of the event before.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    numbers: HashMap<Box<[u8]>, usize>,
    all: Vec<Namespace>,
    /// Database, a dot, which no database has in its name, and collection of the event before.
    last_name: Vec<u8>,
    last: usize,
    name: Vec<u8>,
}

impl Namespaces {
    /// Asks whether a collection is captured when it comes for the first time.
    pub(crate) fn find<C: Captures>(
        &mut self,
        database: &[u8],
        collection: &[u8],
        format: &EventFormat,
        captures: &mut C,
    ) -> Result<usize, C::Error> {
        self.name.clear();
        self.name.extend_from_slice(database);
        self.name.push(b'.');
        self.name.extend_from_slice(collection);
        if self.name == self.last_name {
            return Ok(self.last);
        }
        let number = if let Some(number) = self.numbers.get(&*self.name) {
            *number
        } else {
            let is_captured = captures.captures(database, collection)?;
            let name = captures.topic(database, collection)?;
            let number = self.all.len();
            self.all.push(Namespace {
                is_captured,
                rules: format.fields.of(database, collection),
                name,
                topic: None,
            });
            self.numbers.insert(self.name.clone().into(), number);
            number
        };
        std::mem::swap(&mut self.name, &mut self.last_name);
        self.last = number;
        Ok(number)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Namespace> {
        self.all.get(number)
    }

    /// The topic of a collection that was found, where it is not that of the format.
    pub(crate) fn topic_name(&self, database: &[u8], collection: &[u8]) -> Option<&str> {
        let name = [database, b".", collection].concat();
        let number = self.numbers.get(&*name)?;
        self.all.get(*number)?.name.as_deref()
    }

    /// The topic of a collection's documents, made when it is not there.
    pub(crate) fn topic(
        &mut self,
        number: usize,
        topics: &mut Vec<Topic>,
        format: &EventFormat,
        (database, collection): (&[u8], &[u8]),
    ) -> usize {
        let namespace = self.all.get_mut(number);
        if let Some(topic) = namespace.as_ref().and_then(|namespace| namespace.topic) {
            return topic;
        }
        let topic = topics.len();
        let database = String::from_utf8_lossy(database);
        let collection = String::from_utf8_lossy(collection);
        let name = namespace
            .as_ref()
            .and_then(|namespace| namespace.name.clone());
        topics.push(Topic {
            subject: format!("{database}.{collection}"),
            name: name.unwrap_or_else(|| format.topic(&[&database, &collection])),
        });
        if let Some(namespace) = namespace {
            namespace.topic = Some(topic);
        }
        topic
    }
}
