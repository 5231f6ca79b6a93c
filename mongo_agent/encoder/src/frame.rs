//! What stands around keys and values: their schema beside them, or its id in front of them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use event_encoding::avro::confluent_header;
use event_encoding::connect::JSON_ENVELOPE_END;
use event_encoding::schema_ids::{MessagePart, UnregisteredSchema};

use crate::form::{Form, form_of};
use crate::format::{Encoding, EventFormat};
use crate::schemas::{self, Record};

/// So many topics are remembered; then all are forgotten, since making their schemas again is right too.
const MAX_REMEMBERED: usize = 10_000;

/// Bytes in front of a key or a value, and behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub start: Vec<u8>,
    pub end: &'static [u8],
}

impl Frame {
    /// Appends what is seldom written with what stands around it.
    pub(crate) fn around<R>(
        &self,
        out: &mut Vec<u8>,
        encoding: Encoding,
        write: impl FnOnce(&mut dyn Form) -> R,
    ) -> R {
        out.extend_from_slice(&self.start);
        let written = write(&mut *form_of(encoding, out));
        out.extend_from_slice(self.end);
        written
    }
}

/// Those of the messages of a topic.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frames {
    pub key: Frame,
    pub value: Frame,
}

/// What is known of a side of a topic's messages.
#[derive(Debug, Clone)]
enum Known {
    /// They are framed so.
    Framed(Frame),
    /// They begin with a zero and the id of this schema.
    Registered(UnregisteredSchema),
}

#[derive(Debug, Clone)]
pub(crate) struct TopicSchemas {
    key: Known,
    value: Known,
}

/// Why there are no frames.
#[derive(Debug, Clone)]
pub(crate) enum Missing {
    /// These have no id yet.
    Unregistered(Vec<UnregisteredSchema>),
    /// This one is refused.
    GivenUp(UnregisteredSchema),
}

impl TopicSchemas {
    fn new(record: Record, topic: &str, format: &EventFormat) -> Self {
        let known = |part, encoding| {
            let schema = |names| match part {
                MessagePart::Key => schemas::key(record, topic, names, format),
                MessagePart::Value => schemas::value(record, topic, names, format),
            };
            match encoding {
                Encoding::JsonWithSchema => Known::Framed(Frame {
                    start: schema(format.names).json_envelope(),
                    end: JSON_ENVELOPE_END,
                }),
                Encoding::Avro => {
                    let schema = schema(format.names.for_avro()).avro();
                    Known::Registered(UnregisteredSchema {
                        part,
                        topic: topic.to_owned(),
                        record: record_name(&schema),
                        schema: schema.to_string().into(),
                    })
                }
                // Nobody asks for the text of MongoDB's events: it is JSON then.
                Encoding::Json | Encoding::Text => Known::Framed(Frame::default()),
            }
        };
        Self {
            key: known(MessagePart::Key, format.key),
            value: known(MessagePart::Value, format.value),
        }
    }

    /// The schemas that have to be in a registry.
    pub(crate) fn registered(&self) -> impl Iterator<Item = &UnregisteredSchema> {
        let sides = [&self.key, &self.value].into_iter();
        sides.filter_map(|known| match known {
            Known::Framed(_) => None,
            Known::Registered(schema) => Some(schema),
        })
    }

    pub(crate) fn frames(&self, format: &EventFormat) -> Result<Frames, Missing> {
        let ids = &format.schema_ids;
        if let Some(schema) = self.registered().find(|schema| ids.is_abandoned(schema)) {
            return Err(Missing::GivenUp(schema.clone()));
        }
        let frame = |known: &Known| match known {
            Known::Framed(frame) => Some(frame.clone()),
            Known::Registered(schema) => Some(Frame {
                start: confluent_header(ids.get(schema)?).to_vec(),
                end: b"",
            }),
        };
        if let (Some(key), Some(value)) = (frame(&self.key), frame(&self.value)) {
            return Ok(Frames { key, value });
        }
        let lacking = self.registered().filter(|schema| ids.get(schema).is_none());
        Err(Missing::Unregistered(lacking.cloned().collect()))
    }
}

fn record_name(schema: &serde_json::Value) -> String {
    let part = |name| schema.get(name).and_then(serde_json::Value::as_str);
    let parts = part("namespace").into_iter().chain(part("name"));
    parts.collect::<Vec<_>>().join(".")
}

type ByTopic = HashMap<(Record, Box<str>), Arc<TopicSchemas>>;

/// The schemas of the topics that were met.
#[derive(Debug, Default)]
pub(crate) struct Remembered(RwLock<ByTopic>);

impl Remembered {
    pub(crate) fn of(
        &self,
        record: Record,
        topic: &str,
        format: &EventFormat,
    ) -> Arc<TopicSchemas> {
        let key = (record, topic.into());
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found.get(&key) {
            return Arc::clone(found);
        }
        drop(found);
        let made = Arc::new(TopicSchemas::new(record, topic, format));
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_REMEMBERED {
            all.clear();
        }
        all.insert(key, Arc::clone(&made));
        made
    }
}
