//! From raw events or copied documents to a batch of messages.

use crate::batch::EventBatch;
use crate::bson::Timestamp;
use crate::change::{Change, Copy, Event};
use crate::filling::Filling;
use crate::format::EventFormat;
use crate::namespaces::{Captures, Everything};
use crate::transaction::OpenTransaction;

/// Makes messages; each batch stands for itself.
#[derive(Debug, Clone)]
pub struct Encoder {
    format: EventFormat,
}

impl Encoder {
    pub fn new(format: EventFormat) -> Self {
        Self { format }
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
        let mut filling = Filling::new(&self.format, at_ns)
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
        let mut filling = Filling::new(&self.format, 0).going_on(Some(transaction));
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
        let mut filling = Filling::new(&self.format, at_ns);
        for bytes in documents {
            let event = Change::of_copy(bytes, copy).map(Event::Change);
            filling.add(event, captures)?;
        }
        Ok(filling.into_batch())
    }
}
