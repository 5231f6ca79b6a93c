//! The bytes before and after keys and values: a schema as JSON, or a header with the schema id.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use event_encoding::avro::confluent_header;
use event_encoding::connect::{JSON_ENVELOPE_END, Schema};
use event_encoding::schema_ids::{MessagePart, SchemaIds, SchemaLanguage, UnregisteredSchema};

use crate::format::{Encoding, EventFormat, names_in};
use crate::schemas::{self, Record};
use crate::value_writer::{ValueWriter, writer_for};

/// At this number of topics the cache is cleared, and schemas are built again.
const MAX_CACHED: usize = 10_000;

/// The bytes before and after a key or a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct WireFormat {
    pub start: Vec<u8>,
    pub end: &'static [u8],
}

impl WireFormat {
    /// Writes `{"id":…}`, the key of a DDL event or of a transaction.
    pub(crate) fn write_id_key(&self, out: &mut Vec<u8>, encoding: Encoding, id: &str) {
        self.around(out, encoding, |writer| {
            writer.literal(br#"{"id":"#);
            writer.text(id.as_bytes());
            writer.literal(b"}");
        });
    }

    /// Writes an infrequent kind of message in this format.
    pub(crate) fn around<R>(
        &self,
        out: &mut Vec<u8>,
        encoding: Encoding,
        write: impl FnOnce(&mut dyn ValueWriter) -> R,
    ) -> R {
        out.extend_from_slice(&self.start);
        let written = write(&mut *writer_for(encoding, out));
        out.extend_from_slice(self.end);
        written
    }
}

/// The formats of a topic's messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicFormats {
    pub key: WireFormat,
    pub value: WireFormat,
}

/// The format of a key or a value.
#[derive(Debug, Clone)]
pub(crate) enum PartFormat {
    /// JSON, with a schema or without.
    Json(WireFormat),
    /// Avro, with the id of this schema.
    Avro(UnregisteredSchema),
}

#[derive(Debug, Clone)]
pub(crate) struct TopicSchemas {
    key: PartFormat,
    value: PartFormat,
}

/// Why a topic has no formats yet.
#[derive(Debug, Clone)]
pub(crate) enum SchemaMissing {
    /// Schemas without an id.
    Unregistered(Vec<UnregisteredSchema>),
    /// A schema that the registry rejects.
    Abandoned(UnregisteredSchema),
}

impl PartFormat {
    pub(crate) fn new(
        part: MessagePart,
        topic: &str,
        encoding: Encoding,
        schema: impl FnOnce() -> Schema,
    ) -> Self {
        match encoding {
            Encoding::JsonWithSchema => Self::Json(WireFormat {
                start: schema().json_envelope(),
                end: JSON_ENVELOPE_END,
            }),
            Encoding::Avro => {
                let schema = schema().avro();
                Self::Avro(UnregisteredSchema {
                    part,
                    topic: topic.to_owned(),
                    record: record_name(&schema),
                    schema: schema.to_string().into(),
                    language: SchemaLanguage::Avro,
                })
            }
            // MongoDB events do not support Protobuf or the text of `StringConverter`.
            Encoding::Json | Encoding::Text | Encoding::Protobuf => {
                Self::Json(WireFormat::default())
            }
        }
    }

    /// The schema that needs an id.
    pub(crate) fn avro_schema(&self) -> Option<&UnregisteredSchema> {
        match self {
            Self::Json(_) => None,
            Self::Avro(schema) => Some(schema),
        }
    }

    /// Returns `None` if the schema has no id.
    pub(crate) fn wire_format(&self, ids: &SchemaIds) -> Option<WireFormat> {
        match self {
            Self::Json(format) => Some(format.clone()),
            Self::Avro(schema) => Some(WireFormat {
                start: confluent_header(ids.get(schema)?).to_vec(),
                end: b"",
            }),
        }
    }
}

impl TopicSchemas {
    fn new(record: Record, topic: &str, format: &EventFormat) -> Self {
        let part_format = |part, encoding| {
            let names = names_in(encoding, format.names);
            PartFormat::new(part, topic, encoding, || match part {
                MessagePart::Key => schemas::key(record, topic, names, format),
                MessagePart::Value => schemas::value(record, topic, names, format),
            })
        };
        Self {
            key: part_format(MessagePart::Key, format.key),
            value: part_format(MessagePart::Value, format.value),
        }
    }

    /// The schemas that need an id.
    pub(crate) fn avro_schemas(&self) -> impl Iterator<Item = &UnregisteredSchema> {
        let parts = [&self.key, &self.value].into_iter();
        parts.filter_map(PartFormat::avro_schema)
    }

    pub(crate) fn formats(&self, format: &EventFormat) -> Result<TopicFormats, SchemaMissing> {
        let ids = &format.schema_ids;
        if let Some(schema) = self.avro_schemas().find(|schema| ids.is_abandoned(schema)) {
            return Err(SchemaMissing::Abandoned(schema.clone()));
        }
        let parts = (self.key.wire_format(ids), self.value.wire_format(ids));
        if let (Some(key), Some(value)) = parts {
            return Ok(TopicFormats { key, value });
        }
        Err(SchemaMissing::Unregistered(
            ids.missing(self.avro_schemas()),
        ))
    }
}

fn record_name(schema: &serde_json::Value) -> String {
    let part = |name| schema.get(name).and_then(serde_json::Value::as_str);
    let parts = part("namespace").into_iter().chain(part("name"));
    parts.collect::<Vec<_>>().join(".")
}

type ByTopic = HashMap<(Record, Box<str>), Arc<TopicSchemas>>;

/// The schemas of known topics.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache(RwLock<ByTopic>);

impl SchemaCache {
    pub(crate) fn get_or_make(
        &self,
        record: Record,
        topic: &str,
        format: &EventFormat,
    ) -> Arc<TopicSchemas> {
        let key = (record, topic.into());
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(schemas) = cached.get(&key) {
            return Arc::clone(schemas);
        }
        drop(cached);
        let schemas = Arc::new(TopicSchemas::new(record, topic, format));
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(key, Arc::clone(&schemas));
        schemas
    }
}
