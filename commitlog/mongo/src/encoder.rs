//! From raw events or copied documents to a batch of messages.

use crate::batch::EventBatch;
use crate::change::{Change, Copy, Event};
use crate::filling::Filling;
use crate::format::EventFormat;
use crate::namespaces::{Captures, Everything};

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
    pub fn encode<'b>(&self, events: impl IntoIterator<Item = &'b [u8]>, at_ns: i64) -> EventBatch {
        let Ok(batch) = self.encode_captured(events, at_ns, &mut Everything);
        batch
    }

    /// The same where not all collections are captured.
    pub fn encode_captured<'b, C: Captures>(
        &self,
        events: impl IntoIterator<Item = &'b [u8]>,
        at_ns: i64,
        captures: &mut C,
    ) -> Result<EventBatch, C::Error> {
        let mut filling = Filling::new(&self.format, at_ns);
        for bytes in events {
            filling.add(Event::parse(bytes), captures)?;
        }
        Ok(filling.into_batch())
    }

    /// Copied documents of one collection.
    pub fn encode_copied<'b>(
        &self,
        documents: impl IntoIterator<Item = &'b [u8]>,
        copy: &Copy<'b>,
        at_ns: i64,
    ) -> EventBatch {
        let mut filling = Filling::new(&self.format, at_ns);
        for bytes in documents {
            let event = Change::of_copy(bytes, copy).map(Event::Change);
            let Ok(()) = filling.add(event, &mut Everything);
        }
        filling.into_batch()
    }
}
