//! `MongoEncoder`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use event_encoding::topic_names::Delimiter;
use mongo_encoder::batch;
use mongo_encoder::change::{SnapshotMarker, SnapshotSource};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::fields::FieldRules;
use mongo_encoder::format::{DocumentJson, Encoding, EventFormat, Layout};
use mongo_encoder::schemas::Record;
use mongo_encoder::transaction::OpenTransaction;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::MongoBatch;
use crate::events::ChangeEvents;
use crate::input::{Input, inputs};
use crate::routing::{BatchRouting, Routing};
use crate::transaction::MongoTransaction;
use crate::transform::MongoTransform;
use event_encoding_python::choices::{NAMES, choose};
use event_encoding_python::schema_ids::{SchemaIds, Unregistered};

const ENCODINGS: [(&str, Encoding); 3] = [
    ("json", Encoding::Json),
    ("json_with_schema", Encoding::JsonWithSchema),
    ("avro", Encoding::Avro),
];

/// Encodes events and snapshot documents.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct MongoEncoder {
    encoder: Encoder,
    captures: Routing,
}

#[pymethods]
impl MongoEncoder {
    #[new]
    #[pyo3(signature = (*, topic_prefix, replica_set, node_id,
        connector_version = env!("CARGO_PKG_VERSION").to_owned(), layout = "debezium-3",
        document_json = "legacy", tombstones = true, captures = None,
        skipped_operations = HashSet::new(), transaction_topic = None, excluded_fields = Vec::new(),
        renamed_fields = Vec::new(), schema_topic = None, topic_delimiter = ".", topics = None,
        source_version = "v2", key = "json", value = "json", names = "none", schema_ids = None,
        transforms = Vec::new(), transform_of = None))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        topic_prefix: String,
        replica_set: String,
        node_id: String,
        connector_version: String,
        layout: &str,
        document_json: &str,
        tombstones: bool,
        captures: Option<Py<PyAny>>,
        skipped_operations: HashSet<String>,
        transaction_topic: Option<String>,
        excluded_fields: Vec<String>,
        renamed_fields: Vec<String>,
        schema_topic: Option<String>,
        topic_delimiter: &str,
        topics: Option<Py<PyAny>>,
        source_version: &str,
        key: &str,
        value: &str,
        names: &str,
        schema_ids: Option<&SchemaIds>,
        transforms: Vec<Bound<'_, MongoTransform>>,
        transform_of: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let excluded = excluded_fields.iter().map(String::as_str);
        let renamed = renamed_fields.iter().map(String::as_str);
        let fields = FieldRules::parse(excluded, renamed)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let format = EventFormat {
            topic_prefix,
            connector_version,
            replica_set,
            node_id,
            layout: choose("layout", layout, &Layout::NAMES)?,
            document_json: choose("document_json", document_json, &DocumentJson::NAMES)?,
            is_first_source: choose(
                "source_version",
                source_version,
                &[("v1", true), ("v2", false)],
            )?,
            tombstones,
            skipped_operations: letters(&skipped_operations)?,
            transaction_topic,
            schema_topic,
            topic_delimiter: Delimiter(topic_delimiter.to_owned()),
            fields,
            key: choose("key", key, &ENCODINGS)?,
            value: choose("value", value, &ENCODINGS)?,
            names: choose("names", names, &NAMES)?,
            schema_ids: schema_ids.map(|ids| Arc::clone(&ids.0)).unwrap_or_default(),
        };
        let known = transforms
            .iter()
            .map(|transform| transform.get().transform.clone())
            .collect();
        let routes = transforms
            .iter()
            .map(|known| known.get().topic_of(known.py()));
        Ok(Self {
            captures: Routing::new(captures, topics, transform_of, routes),
            encoder: Encoder::new(format).with_transforms(known),
        })
    }

    /// Encodes events of a change stream.
    #[pyo3(signature = (events, *, transaction = None, at_ns = None))]
    fn encode(
        &self,
        py: Python<'_>,
        events: &Bound<'_, PyAny>,
        transaction: Option<Bound<'_, MongoTransaction>>,
        at_ns: Option<i64>,
    ) -> PyResult<MongoBatch> {
        let transaction = transaction.map(|open| open.get().0.clone());
        let at_ns = at_ns.unwrap_or_else(now_ns);
        let batch = if let Ok(events) = events.cast::<ChangeEvents>() {
            let events = events.get();
            py.detach(|| self.encode_events(events.slices(), transaction, at_ns))
        } else {
            let events = inputs(&events.extract::<Vec<_>>()?)?;
            py.detach(|| self.encode_events(events.iter().map(Input::bytes), transaction, at_ns))
        };
        Ok(MongoBatch { batch: batch? })
    }

    /// Ends a transaction if a token has a later time.
    fn end_transaction(&self, transaction: &MongoTransaction, time: (u32, u32)) -> MongoBatch {
        MongoBatch {
            batch: self
                .encoder
                .end_transaction(transaction.0.clone(), time.into()),
        }
    }

    /// Encodes snapshot documents of one collection.
    #[pyo3(signature = (documents, *, database, collection, cluster_time, read_at_ms, snapshot,
        at_ns = None))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn encode_snapshot(
        &self,
        py: Python<'_>,
        documents: Vec<Bound<'_, PyAny>>,
        database: &str,
        collection: &str,
        cluster_time: (u32, u32),
        read_at_ms: i64,
        snapshot: &str,
        at_ns: Option<i64>,
    ) -> PyResult<MongoBatch> {
        let documents = inputs(&documents)?;
        let markers = SnapshotMarker::ALL.map(|marker| (marker.name(), marker));
        let source = SnapshotSource {
            database: database.as_bytes(),
            collection: collection.as_bytes(),
            cluster_time: cluster_time.into(),
            read_at_ms,
            marker: choose("snapshot", snapshot, &markers)?,
        };
        let at_ns = at_ns.unwrap_or_else(now_ns);
        let batch = py.detach(|| {
            let documents = documents.iter().map(Input::bytes);
            let mut captures = self.routing(true);
            let encoder = &self.encoder;
            encoder.encode_snapshot(documents, &source, at_ns, &mut captures)
        });
        Ok(MongoBatch { batch: batch? })
    }

    /// Schemas without an id of the documents of a collection.
    fn unregistered(&self, database: &str, collection: &str) -> PyResult<Vec<Unregistered>> {
        let mut captures = self.routing(true);
        let encoder = &self.encoder;
        let found = encoder.unregistered_of(database, collection, &mut captures)?;
        Ok(Unregistered::list(found))
    }

    /// Key and value of a heartbeat.
    fn heartbeat<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        server_name: &str,
        ts_ms: i64,
    ) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (key, value) = self.encoder.heartbeat(topic, server_name, ts_ms)?;
        Some((PyBytes::new(py, &key), PyBytes::new(py, &value)))
    }

    /// Schemas without an id of heartbeats.
    fn unregistered_heartbeat(&self, topic: &str) -> Vec<Unregistered> {
        Unregistered::list(self.encoder.unregistered(Record::Heartbeat, topic))
    }
}

impl MongoEncoder {
    fn routing(&self, is_snapshot: bool) -> BatchRouting<'_> {
        BatchRouting {
            routing: &self.captures,
            is_snapshot,
        }
    }

    fn encode_events<'b>(
        &self,
        events: impl Iterator<Item = &'b [u8]> + Clone,
        transaction: Option<OpenTransaction>,
        at_ns: i64,
    ) -> PyResult<batch::MessageBatch> {
        let mut captures = self.routing(false);
        let encoder = &self.encoder;
        encoder.encode(events, transaction, at_ns, &mut captures)
    }
}

/// The letters of `op` that are skipped.
fn letters(given: &HashSet<String>) -> PyResult<Vec<&'static str>> {
    let letters = ["c", "u", "d", "r"].map(|letter| (letter, letter));
    let named = |name: &String| choose("skipped_operations", name, &letters);
    given.iter().map(named).collect()
}

fn now_ns() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since_epoch.map_or(0, |since_epoch| since_epoch.as_nanos());
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
