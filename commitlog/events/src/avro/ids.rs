//! Which id a registry gave to a schema.

use std::collections::{HashMap, HashSet};
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
pub struct SchemaIds(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<Unregistered, u32>,
    given_up: HashSet<Unregistered>,
}

impl SchemaIds {
    pub fn get(&self, schema: &Unregistered) -> Option<u32> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.ids.get(schema).copied()
    }

    pub fn set(&self, schema: Unregistered, id: u32) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.given_up.remove(&schema);
        known.ids.insert(schema, id);
    }

    /// What has a schema without an id is not waited for, until it has one after all.
    pub fn give_up(&self, schema: Unregistered) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !known.ids.contains_key(&schema) {
            known.given_up.insert(schema);
        }
    }

    pub fn is_given_up(&self, schema: &Unregistered) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.given_up.contains(schema)
    }
}
