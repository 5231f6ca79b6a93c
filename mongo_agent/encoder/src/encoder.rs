//! From raw events or copied documents to a batch of messages.

use event_encoding::schema_ids::UnregisteredSchema;

use crate::batch::EventBatch;
use crate::bson::Timestamp;
use crate::change::{Change, Copy, Event};
use crate::filling::Filling;
use crate::format::EventFormat;
use crate::frame::Remembered;
use crate::heartbeat;
use crate::namespaces::{Captures, Everything};
use crate::schemas::Record;
use crate::transaction::OpenTransaction;

/// Makes messages; each batch stands for itself.
#[derive(Debug)]
pub struct Encoder {
    format: EventFormat,
    schemas: Remembered,
}

/// Key and value of a message.
pub type KeyAndValue = (Vec<u8>, Vec<u8>);

impl Encoder {
    pub fn new(format: EventFormat) -> Self {
        Self {
            format,
            schemas: Remembered::default(),
        }
    }

    pub fn format(&self) -> &EventFormat {
        &self.format
    }

    /// Events of a change stream, in its order, published at a time (nanoseconds).
    pub fn encode<'b>(
        &self,
        events: impl IntoIterator<Item = &'b [u8], IntoIter: Clone>,
        at_ns: i64,
    ) -> EventBatch {
        let Ok(batch) = self.encode_captured(events, None, at_ns, &mut Everything);
        batch
    }

    /// The same where a transaction may be open in front of them, and not all collections are captured.
    pub fn encode_captured<'b, C: Captures>(
        &self,
        events: impl IntoIterator<Item = &'b [u8], IntoIter: Clone>,
        transaction: Option<OpenTransaction>,
        at_ns: i64,
        captures: &mut C,
    ) -> Result<EventBatch, C::Error> {
        let events = events.into_iter();
        let mut filling = Filling::new(&self.format, &self.schemas, at_ns)
            .going_on(transaction)
            .with_room(events.clone().map(<[u8]>::len));
        for bytes in events {
            filling.add(Event::parse(bytes), captures)?;
        }
        Ok(filling.into_batch())
    }

    /// What a resume token behind all events tells of an open transaction: when it is of a later time the
    /// transaction is over. The token is the one event of the batch.
    pub fn end_transaction(&self, transaction: OpenTransaction, time: Timestamp) -> EventBatch {
        let mut filling = Filling::new(&self.format, &self.schemas, 0).going_on(Some(transaction));
        filling.add_token(time);
        filling.into_batch()
    }

    /// Copied documents of one collection.
    pub fn encode_copied<'b>(
        &self,
        documents: impl IntoIterator<Item = &'b [u8]>,
        copy: &Copy<'b>,
        at_ns: i64,
    ) -> EventBatch {
        let Ok(batch) = self.encode_copied_captured(documents, copy, at_ns, &mut Everything);
        batch
    }

    /// The same where a collection may have a topic of its own.
    pub fn encode_copied_captured<'b, C: Captures>(
        &self,
        documents: impl IntoIterator<Item = &'b [u8]>,
        copy: &Copy<'b>,
        at_ns: i64,
        captures: &mut C,
    ) -> Result<EventBatch, C::Error> {
        let mut filling = Filling::new(&self.format, &self.schemas, at_ns);
        for bytes in documents {
            let event = Change::of_copy(bytes, copy).map(Event::Change);
            filling.add(event, captures)?;
        }
        Ok(filling.into_batch())
    }

    /// A heartbeat to a topic at a time (milliseconds); None while its schemas have no id.
    pub fn heartbeat(&self, topic: &str, server_name: &str, ts_ms: i64) -> Option<KeyAndValue> {
        let format = &self.format;
        let schemas = self.schemas.of(Record::Heartbeat, topic, format);
        let frames = schemas.frames(format).ok()?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        frames.key.around(&mut key, format.key, |form| {
            heartbeat::write_key(form, server_name);
        });
        frames.value.around(&mut value, format.value, |form| {
            heartbeat::write_value(form, ts_ms);
        });
        Some((key, value))
    }

    /// Schemas of the documents of a collection that have no id.
    pub fn unregistered_of<C: Captures>(
        &self,
        database: &str,
        collection: &str,
        captures: &mut C,
    ) -> Result<Vec<UnregisteredSchema>, C::Error> {
        let own = captures.topic(database.as_bytes(), collection.as_bytes())?;
        let topic = own.unwrap_or_else(|| self.format.topic(&[database, collection]));
        Ok(self.unregistered(Record::Document, &topic))
    }

    /// Schemas of such messages of a topic that have no id.
    pub fn unregistered(&self, record: Record, topic: &str) -> Vec<UnregisteredSchema> {
        let schemas = self.schemas.of(record, topic, &self.format);
        let ids = &self.format.schema_ids;
        let lacking = schemas
            .registered()
            .filter(|schema| ids.get(schema).is_none());
        lacking.cloned().collect()
    }
}
