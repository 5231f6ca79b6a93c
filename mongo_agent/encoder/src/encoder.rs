//! Encodes events and snapshot documents as batches of messages.

use event_encoding::schema_ids::UnregisteredSchema;

use crate::batch::MessageBatch;
use crate::batch_builder::BatchBuilder;
use crate::bson::Timestamp;
use crate::change::{Change, Event, SnapshotSource};
use crate::format::EventFormat;
use crate::namespaces::Routing;
use crate::schemas::Record;
use crate::shape_cache::ShapeCache;
use crate::transaction::OpenTransaction;
use crate::transform::Transform;
use crate::wire_format::SchemaCache;

/// Batches are independent of each other.
#[derive(Debug)]
pub struct Encoder {
    format: EventFormat,
    /// [`Routing`] assigns them to collections.
    transforms: Vec<Transform>,
    schemas: SchemaCache,
    shapes: ShapeCache,
}

/// Key and value of a message.
pub type KeyAndValue = (Vec<u8>, Vec<u8>);

impl Encoder {
    pub fn new(format: EventFormat) -> Self {
        Self {
            format,
            transforms: Vec::new(),
            schemas: SchemaCache::default(),
            shapes: ShapeCache::default(),
        }
    }

    #[must_use]
    pub fn with_transforms(self, transforms: Vec<Transform>) -> Self {
        Self { transforms, ..self }
    }

    pub fn format(&self) -> &EventFormat {
        &self.format
    }

    /// Encodes events in stream order, after an open transaction, with a choice of collections and
    /// topics; `at_ns` is the time of publication (nanoseconds).
    pub fn encode<'b, R: Routing>(
        &self,
        events: impl IntoIterator<Item = &'b [u8], IntoIter: Clone>,
        transaction: Option<OpenTransaction>,
        at_ns: i64,
        routing: &mut R,
    ) -> Result<MessageBatch, R::Error> {
        let events = events.into_iter();
        let mut builder = self
            .builder(at_ns)
            .with_transaction(transaction)
            .with_capacity_for(events.clone().map(<[u8]>::len));
        for bytes in events {
            builder.add(Event::parse(bytes), routing)?;
        }
        Ok(builder.into_batch())
    }

    /// Ends an open transaction if a resume token after all its events has a later time. The token
    /// counts as the only event of the batch.
    pub fn end_transaction(&self, transaction: OpenTransaction, time: Timestamp) -> MessageBatch {
        let mut builder = self.builder(0).with_transaction(Some(transaction));
        builder.add_token(time);
        builder.into_batch()
    }

    /// Encodes snapshot documents of one collection, with a choice of topics.
    pub fn encode_snapshot<'b, R: Routing>(
        &self,
        documents: impl IntoIterator<Item = &'b [u8]>,
        source: &SnapshotSource<'b>,
        at_ns: i64,
        routing: &mut R,
    ) -> Result<MessageBatch, R::Error> {
        let mut builder = self.builder(at_ns);
        for bytes in documents {
            let event = Change::of_snapshot(bytes, source).map(Event::Change);
            builder.add(event, routing)?;
        }
        Ok(builder.into_batch())
    }

    fn builder(&self, at_ns: i64) -> BatchBuilder<'_> {
        BatchBuilder::new(
            &self.format,
            &self.transforms,
            &self.schemas,
            &self.shapes,
            at_ns,
        )
    }

    /// Encodes a heartbeat; `ts_ms` is its time. `None` until its schemas have ids.
    pub fn heartbeat(&self, topic: &str, server_name: &str, ts_ms: i64) -> Option<KeyAndValue> {
        let format = &self.format;
        let schemas = self.schemas.get_or_make(Record::Heartbeat, topic, format);
        let formats = schemas.formats(format).ok()?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        formats.key.around(&mut key, format.key, |writer| {
            writer.literal(br#"{"serverName":"#);
            writer.text(server_name.as_bytes());
            writer.literal(b"}");
        });
        formats.value.around(&mut value, format.value, |writer| {
            writer.literal(br#"{"ts_ms":"#);
            writer.number(ts_ms);
            writer.literal(b"}");
        });
        Some((key, value))
    }

    /// The schemas of a collection's documents that have no id yet; empty if the collection is
    /// transformed, because its schemas then depend on the documents.
    pub fn unregistered_of<R: Routing>(
        &self,
        database: &str,
        collection: &str,
        routing: &mut R,
    ) -> Result<Vec<UnregisteredSchema>, R::Error> {
        let names = (database.as_bytes(), collection.as_bytes());
        if !self.transforms.is_empty() && routing.transform(names.0, names.1)?.is_some() {
            return Ok(Vec::new());
        }
        let own = routing.topic(names.0, names.1)?;
        let topic = own.unwrap_or_else(|| self.format.topic(&[database, collection]));
        Ok(self.unregistered(Record::Document, &topic))
    }

    /// The schemas of a topic's messages that have no id yet.
    pub fn unregistered(&self, record: Record, topic: &str) -> Vec<UnregisteredSchema> {
        let schemas = self.schemas.get_or_make(record, topic, &self.format);
        self.format.schema_ids.missing(schemas.avro_schemas())
    }
}
