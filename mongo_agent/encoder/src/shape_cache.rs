//! Caches schemas that are inferred from documents, one for all documents of a shape.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use event_encoding::connect::Schema;
use event_encoding::schema_ids::{MessagePart, SchemaIds, UnregisteredSchema};

use crate::error::{Problem, Result};
use crate::format::Encoding;
use crate::wire_format::{PartFormat, WireFormat};

/// At this number of shapes the cache is cleared, and schemas are inferred again.
const MAX_SHAPES: usize = 4096;
/// Longer keys belong to huge documents, whose schemas are inferred each time.
const LONGEST_KEY: usize = 1 << 16;

/// The schema of a key or a value, and the bytes before and after it.
#[derive(Debug)]
pub(crate) struct InferredSchema {
    pub schema: Schema,
    part: PartFormat,
    /// The generation of the ids, and the wire format with its id.
    wire_format: RwLock<Option<(u64, WireFormat)>>,
}

impl InferredSchema {
    pub(crate) fn new(part: MessagePart, topic: &str, encoding: Encoding, schema: Schema) -> Self {
        Self {
            part: PartFormat::new(part, topic, encoding, || schema.clone()),
            schema,
            wire_format: RwLock::default(),
        }
    }

    /// Returns the wire format. If the schema has no id, adds it to `missing` and omits the start.
    pub(crate) fn wire_format(
        &self,
        ids: &SchemaIds,
        missing: &RefCell<Vec<UnregisteredSchema>>,
    ) -> Result<WireFormat> {
        let generation = ids.generation();
        let known = self.wire_format.read();
        match &*known.unwrap_or_else(PoisonError::into_inner) {
            Some(known) if known.0 == generation => return Ok(known.1.clone()),
            _ => {}
        }
        if let Some(found) = self.part.wire_format(ids) {
            let known = self.wire_format.write();
            *known.unwrap_or_else(PoisonError::into_inner) = Some((generation, found.clone()));
            return Ok(found);
        }
        let Some(schema) = self.part.avro_schema() else {
            return Ok(WireFormat::default());
        };
        if ids.is_abandoned(schema) {
            let (part, topic) = (schema.part.name(), schema.topic.clone());
            return Err(Problem::Unregistered { part, topic }.at_offset(0));
        }
        missing.borrow_mut().push(schema.clone());
        Ok(WireFormat::default())
    }
}

type ByShape = HashMap<Box<[u8]>, Arc<InferredSchema>>;

#[derive(Debug, Default)]
pub(crate) struct ShapeCache(RwLock<ByShape>);

impl ShapeCache {
    /// Returns the schema of a shape; `infer` computes an unknown schema.
    pub(crate) fn get_or_infer(
        &self,
        shape: &[u8],
        infer: impl FnOnce() -> Result<InferredSchema>,
    ) -> Result<Arc<InferredSchema>> {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cached.get(shape) {
            return Ok(Arc::clone(found));
        }
        drop(cached);
        let made = Arc::new(infer()?);
        if shape.len() <= LONGEST_KEY {
            let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if cached.len() >= MAX_SHAPES {
                cached.clear();
            }
            cached.insert(shape.into(), Arc::clone(&made));
        }
        Ok(made)
    }
}

/// Access to the schemas of a topic's messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopicShapes<'s> {
    pub cache: &'s ShapeCache,
    pub topic: &'s str,
    /// Receives schemas without an id.
    pub missing: &'s RefCell<Vec<UnregisteredSchema>>,
}
