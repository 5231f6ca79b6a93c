//! The Python class `AnnouncedSchema`, and the messages of the schema-change topic.

use std::sync::Arc;

use commitlog_core::schema::{self, TableChange, TableId};
use commitlog_events::schema_event::{SchemaOrigin, schema_messages};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::clock::now_ms;
use crate::error::from_schema_error;
use crate::format::EventFormat;
use crate::schema::{Schema, SchemaChanges};

/// The table definitions that the schema-change topic contains.
#[pyclass(frozen, module = "commitlog")]
pub struct AnnouncedSchema(pub Arc<schema::AnnouncedSchema>);

/// Topic, key, value, headers and partition hash, as for events.
type Message<'py> = (
    String,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyList>,
    u32,
);

type Announced<'py> = (AnnouncedSchema, Vec<Message<'py>>);

impl AnnouncedSchema {
    fn new(announced: schema::AnnouncedSchema) -> Self {
        Self(Arc::new(announced))
    }
}

#[pymethods]
impl AnnouncedSchema {
    #[staticmethod]
    fn from_stored(stored: &[u8]) -> PyResult<Self> {
        schema::AnnouncedSchema::from_stored(stored)
            .map(Self::new)
            .map_err(|error| from_schema_error(&error))
    }

    fn to_stored<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.to_stored().as_bytes())
    }

    /// Announces all user tables of a schema; returns the state and the messages.
    #[staticmethod]
    fn initial<'py>(
        py: Python<'py>,
        schema: &Schema,
        event_format: &EventFormat,
        topic: &str,
    ) -> PyResult<Announced<'py>> {
        let (announced, mut changes) = schema::AnnouncedSchema::initial(&schema.0);
        // Message ids must not depend on when a node wrote its schema rows.
        for change in &mut changes {
            change.time_us = i64::MIN;
        }
        let origin = SchemaOrigin {
            now_ms: now_ms(),
            ..SchemaOrigin::default()
        };
        let messages = messages(py, &changes, event_format, topic, &origin)?;
        Ok((Self::new(announced), messages))
    }

    /// Applies schema changes from the log; returns the new state and the messages.
    #[pyo3(signature = (changes, event_format, topic, *, segment, segment_id, position))]
    #[allow(clippy::too_many_arguments)]
    fn changed<'py>(
        &self,
        py: Python<'py>,
        changes: &SchemaChanges,
        event_format: &EventFormat,
        topic: &str,
        segment: &str,
        segment_id: i64,
        position: u64,
    ) -> PyResult<Announced<'py>> {
        let mut announced = (*self.0).clone();
        let mut tables = Vec::new();
        for change in changes.as_slice() {
            let (after, changed) = announced.apply(change);
            announced = after;
            tables.extend(changed);
        }
        let origin = segment_origin(segment, segment_id, position);
        let messages = messages(py, &tables, event_format, topic, &origin)?;
        Ok((Self::new(announced), messages))
    }

    /// Copies a table's definition from `schema`; returns the new state and the messages.
    #[pyo3(signature = (schema, table_id, event_format, topic, *, segment, segment_id, position))]
    #[allow(clippy::too_many_arguments)]
    fn with_table<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        table_id: &str,
        event_format: &EventFormat,
        topic: &str,
        segment: &str,
        segment_id: i64,
        position: u64,
    ) -> PyResult<Announced<'py>> {
        let (announced, change) = match TableId::parse(table_id) {
            Some(id) => self.0.with_table_of(&schema.0, id),
            None => ((*self.0).clone(), None),
        };
        let origin = segment_origin(segment, segment_id, position);
        let messages = messages(py, change.as_slice(), event_format, topic, &origin)?;
        Ok((Self::new(announced), messages))
    }
}

fn segment_origin(segment: &str, segment_id: i64, position: u64) -> SchemaOrigin {
    SchemaOrigin {
        file: segment.to_owned(),
        segment_id: Some(segment_id),
        position,
        now_ms: now_ms(),
    }
}

fn messages<'py>(
    py: Python<'py>,
    changes: &[TableChange],
    format: &EventFormat,
    topic: &str,
    origin: &SchemaOrigin,
) -> PyResult<Vec<Message<'py>>> {
    let messages = schema_messages(changes, &format.0, origin).into_iter();
    let messages = messages.map(|message| {
        let headers = message.headers.iter();
        let headers = headers.map(|(name, value)| (*name, PyBytes::new(py, value)));
        Ok((
            topic.to_owned(),
            PyBytes::new(py, &message.key),
            PyBytes::new(py, &message.value),
            PyList::new(py, headers)?,
            message.partition_hash,
        ))
    });
    messages.collect()
}
