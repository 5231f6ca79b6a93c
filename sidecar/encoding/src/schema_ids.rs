//! The ids that a schema registry assigned.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// The part of a message that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessagePart {
    Key,
    Value,
}

impl MessagePart {
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

/// The language of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaLanguage {
    Avro,
    Protobuf,
}

impl SchemaLanguage {
    /// `schemaType` in the registry's API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avro => "AVRO",
            Self::Protobuf => "PROTOBUF",
        }
    }
}

/// A schema without an id, and the names that its subject may contain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnregisteredSchema {
    pub part: MessagePart,
    pub topic: String,
    /// Full name of the record.
    pub record: String,
    /// Avro JSON or Protobuf text.
    pub schema: Arc<str>,
    pub language: SchemaLanguage,
}

/// Ids of schemas, shared by all encoders.
#[derive(Debug, Default)]
pub struct SchemaIds(RwLock<Known>);

/// Identifies a schema without its text, because there may be many long texts.
type Digest = [u8; 32];

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<Digest, u32>,
    abandoned: HashSet<Digest>,
    /// How often all ids were forgotten.
    generation: u64,
}

impl UnregisteredSchema {
    fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        let names = [
            self.part.name(),
            self.language.name(),
            &self.topic,
            &self.record,
        ];
        for name in names {
            hasher.update(name.as_bytes()).update(&[0]);
        }
        hasher.update(self.schema.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

impl SchemaIds {
    pub fn get(&self, schema: &UnregisteredSchema) -> Option<u32> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.ids.get(&schema.digest()).copied()
    }

    /// Returns the schemas that have no id.
    pub fn missing<'s>(
        &self,
        schemas: impl Iterator<Item = &'s UnregisteredSchema>,
    ) -> Vec<UnregisteredSchema> {
        let missing = schemas.filter(|schema| self.get(schema).is_none());
        missing.cloned().collect()
    }

    pub fn set(&self, schema: &UnregisteredSchema, id: u32) {
        let digest = schema.digest();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.abandoned.remove(&digest);
        known.ids.insert(digest, id);
    }

    /// Forgets all ids, because the registry assigned them to other schemas.
    pub fn forget_all(&self) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.ids.clear();
        known.generation += 1;
    }

    /// Returns the current generation. Data derived from ids of an earlier generation is invalid.
    pub fn generation(&self) -> u64 {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.generation
    }

    /// Marks a schema without an id, whose events the MongoDB encoder rejects until it gets an id.
    pub fn abandon(&self, schema: &UnregisteredSchema) {
        let digest = schema.digest();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !known.ids.contains_key(&digest) {
            known.abandoned.insert(digest);
        }
    }

    pub fn is_abandoned(&self, schema: &UnregisteredSchema) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.abandoned.contains(&schema.digest())
    }
}
