//! `AnnouncedSchema`: the messages of the schema-change topic.

use std::sync::Arc;

use commitlog_core::schema::{self, TableChange, TableId};
use commitlog_events::format;
use commitlog_events::schema_event::{SchemaOrigin, schema_message};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::clock::now_ms;
use crate::error::from_schema_error;
use crate::format::EventFormat;
use crate::schema::{Schema, SchemaChanges};

/// What the schema-change topic announced.
#[pyclass(frozen, module = "commitlog")]
pub struct AnnouncedSchema(pub Arc<schema::AnnouncedSchema>);

/// Topic, key, value, headers, partition hash, as of events.
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

    /// All tables of a schema, and their messages.
    #[staticmethod]
    fn initial<'py>(
        py: Python<'py>,
        schema: &Schema,
        event_format: &EventFormat,
        topic: &str,
    ) -> PyResult<Announced<'py>> {
        let (announced, mut changes) = schema::AnnouncedSchema::initial(&schema.0);
        // The ids do not depend on when a node wrote its rows.
        for change in &mut changes {
            change.time_us = i64::MIN;
        }
        let origin = SchemaOrigin {
            now_ms: now_ms(),
            ..SchemaOrigin::default()
        };
        let format = &event_format.0;
        let messages = messages(py, &changes, format, topic, &origin, "snapshot/0")?;
        Ok((Self::new(announced), messages))
    }

    /// This after changes in the log, and their messages.
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
            let (after, changed) = announced.changed(change);
            announced = after;
            tables.extend(changed);
        }
        let origin = SchemaOrigin {
            file: segment.to_owned(),
            position,
            now_ms: now_ms(),
        };
        let place = format!("{segment_id}/{position}");
        let messages = messages(py, &tables, &event_format.0, topic, &origin, &place)?;
        Ok((Self::new(announced), messages))
    }

    /// This with a table as a schema has it, and its message.
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
        let origin = SchemaOrigin {
            file: segment.to_owned(),
            position,
            now_ms: now_ms(),
        };
        let place = format!("{segment_id}/{position}");
        let changes = change.as_slice();
        let messages = messages(py, changes, &event_format.0, topic, &origin, &place)?;
        Ok((Self::new(announced), messages))
    }
}

fn messages<'py>(
    py: Python<'py>,
    changes: &[TableChange],
    format: &format::EventFormat,
    topic: &str,
    origin: &SchemaOrigin,
    place: &str,
) -> PyResult<Vec<Message<'py>>> {
    let messages = changes
        .iter()
        .filter_map(|change| schema_message(change, format, origin));
    let messages = messages.enumerate().map(|(index, message)| {
        let source = format!("{}/{place}/{index}", format.node_id);
        let headers = [
            ("cdc.id", PyBytes::new(py, &message.id)),
            ("cdc.source", PyBytes::new(py, source.as_bytes())),
            (
                "cdc.ts_us",
                PyBytes::new(py, message.timestamp_us.to_string().as_bytes()),
            ),
            ("cdc.kind", PyBytes::new(py, b"schema")),
        ];
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
