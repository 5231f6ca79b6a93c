//! The collections of a batch, each looked up once.

use indexmap::IndexMap;

use crate::fields::CollectionRules;
use crate::format::EventFormat;
use crate::topic::Topic;

/// Which collections are captured, and the topics of their events.
pub trait Routing {
    type Error;

    /// Called at most once a batch for each collection.
    fn captures(&mut self, database: &[u8], collection: &[u8]) -> Result<bool, Self::Error>;

    /// The topic, if it is not that of the format. Called as often.
    fn topic(
        &mut self,
        _database: &[u8],
        _collection: &[u8],
    ) -> Result<Option<String>, Self::Error> {
        Ok(None)
    }

    /// Index of the transformation of the collection's events; the first one by default. Called as
    /// often.
    fn transform(
        &mut self,
        _database: &[u8],
        _collection: &[u8],
    ) -> Result<Option<usize>, Self::Error> {
        Ok(Some(0))
    }

    /// The topic for a value of `route.by.field`. Called at most once a batch for each collection
    /// and value.
    fn route(&mut self, _transform: usize, value: &str) -> Result<String, Self::Error> {
        Ok(format!("outbox.event.{value}"))
    }
}

impl<E, F: FnMut(&[u8], &[u8]) -> Result<bool, E>> Routing for F {
    type Error = E;

    fn captures(&mut self, database: &[u8], collection: &[u8]) -> Result<bool, E> {
        self(database, collection)
    }
}

/// A collection of a batch.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub is_captured: bool,
    pub rules: CollectionRules,
    /// Index of the transformation of its events, if there is one.
    pub transform: Option<usize>,
    /// The topic, if it is not that of the format.
    name: Option<String>,
    /// Index of its topic, from the first message on.
    topic: Option<usize>,
}

/// Most events are of the same collection as the previous event.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    has_transforms: bool,
    all: IndexMap<Box<[u8]>, Namespace>,
    /// Database, a dot and collection of the previous event. Database names have no dots.
    last_name: Vec<u8>,
    last: usize,
    name: Vec<u8>,
}

impl Namespaces {
    pub(crate) fn new(has_transforms: bool) -> Self {
        Self {
            has_transforms,
            ..Self::default()
        }
    }

    /// Looks a collection up.
    pub(crate) fn find<R: Routing>(
        &mut self,
        database: &[u8],
        collection: &[u8],
        format: &EventFormat,
        routing: &mut R,
    ) -> Result<usize, R::Error> {
        self.name.clear();
        self.name.extend_from_slice(database);
        self.name.push(b'.');
        self.name.extend_from_slice(collection);
        if self.name == self.last_name {
            return Ok(self.last);
        }
        let number = if let Some(number) = self.all.get_index_of(&*self.name) {
            number
        } else {
            let is_captured = routing.captures(database, collection)?;
            let name = routing.topic(database, collection)?;
            let transform = if self.has_transforms {
                routing.transform(database, collection)?
            } else {
                None
            };
            let namespace = Namespace {
                is_captured,
                rules: format.fields.collection_rules(database, collection),
                transform,
                name,
                topic: None,
            };
            let (number, _) = self.all.insert_full(self.name.clone().into(), namespace);
            number
        };
        std::mem::swap(&mut self.name, &mut self.last_name);
        self.last = number;
        Ok(number)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Namespace> {
        self.all.get_index(number).map(|(_, namespace)| namespace)
    }

    /// The topic of a known collection, if it is not that of the format.
    pub(crate) fn topic_name(&self, database: &[u8], collection: &[u8]) -> Option<&str> {
        let name = [database, b".", collection].concat();
        self.all.get(&*name)?.name.as_deref()
    }

    /// The topic of a collection's documents; added on first use.
    pub(crate) fn topic(
        &mut self,
        number: usize,
        topics: &mut Vec<Topic>,
        format: &EventFormat,
        (database, collection): (&[u8], &[u8]),
    ) -> usize {
        let namespace = self
            .all
            .get_index_mut(number)
            .map(|(_, namespace)| namespace);
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
