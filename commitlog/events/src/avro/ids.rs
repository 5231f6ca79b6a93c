//! Which id a registry gave to a schema.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Key,
    Value,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

/// A schema that has no id yet, and what its subject may be named after.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unregistered {
    pub side: Side,
    pub topic: String,
    /// Full name of the record.
    pub record: String,
    /// Its JSON.
    pub schema: Arc<str>,
}

/// Ids of schemas, shared by all readers.
#[derive(Debug, Default)]
pub struct SchemaIds(RwLock<HashMap<Unregistered, u32>>);

impl SchemaIds {
    pub fn get(&self, schema: &Unregistered) -> Option<u32> {
        let ids = self.0.read().unwrap_or_else(PoisonError::into_inner);
        ids.get(schema).copied()
    }

    pub fn set(&self, schema: Unregistered, id: u32) {
        let mut ids = self.0.write().unwrap_or_else(PoisonError::into_inner);
        ids.insert(schema, id);
    }
}
