//! `MongoTransform`: a transformation of events.

use mongo_encoder::format::Layout;
use mongo_encoder::transform::{
    AdditionalField, ArrayEncoding, DeleteHandling, EventRouter, ExtractDocument, MemberError,
    NamedMember, OutboxConverter, Placement, Transform,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use event_encoding_python::choices::{NAMES, choose};

const ARRAYS: [(&str, ArrayEncoding); 2] = [
    ("array", ArrayEncoding::Array),
    ("document", ArrayEncoding::Document),
];

const PLACEMENTS: [(&str, Placement); 3] = [
    ("header", Placement::Header),
    ("envelope", Placement::Envelope),
    ("partition", Placement::Partition),
];

const CONVERTERS: [(&str, OutboxConverter); 4] = [
    ("encoding", OutboxConverter::Encoding),
    ("string", OutboxConverter::Text),
    ("bytes", OutboxConverter::Bytes),
    ("binary", OutboxConverter::BytesOrEncoding),
];

/// A transformation of document events.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct MongoTransform {
    pub transform: Transform,
    /// Returns the topic for a value of `route.by.field`.
    topic_of: Option<Py<PyAny>>,
}

#[pymethods]
impl MongoTransform {
    /// Creates `ExtractNewDocumentState`.
    #[staticmethod]
    #[pyo3(signature = (*, layout = "debezium-3", arrays = "array", delimiter = None,
        deletes = "tombstone", rewrites_with_id = false, fields = Vec::new(), field_prefix = "__",
        headers = Vec::new(), header_prefix = "__", names = "none", omits_removed_fields = false))]
    #[allow(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn extract_document(
        layout: &str,
        arrays: &str,
        delimiter: Option<String>,
        deletes: &str,
        rewrites_with_id: bool,
        fields: Vec<String>,
        field_prefix: &str,
        headers: Vec<String>,
        header_prefix: &str,
        names: &str,
        omits_removed_fields: bool,
    ) -> PyResult<Self> {
        let layout = choose("layout", layout, &Layout::NAMES)?;
        let fields = fields
            .iter()
            .map(|text| NamedMember::parse(field_prefix, text, layout).map_err(rejected))
            .collect::<PyResult<_>>()?;
        let headers = headers
            .iter()
            .map(|text| NamedMember::parse_header(header_prefix, text, layout).map_err(rejected))
            .collect::<PyResult<_>>()?;
        Ok(Self {
            transform: Transform::ExtractDocument(ExtractDocument {
                arrays: choose("arrays", arrays, &ARRAYS)?,
                delimiter,
                deletes: choose("deletes", deletes, &DeleteHandling::NAMES)?,
                rewrites_with_id,
                fields,
                headers,
                names: choose("names", names, &NAMES)?,
                omits_removed_fields,
            }),
            topic_of: None,
        })
    }

    /// Creates `MongoEventRouter`.
    #[staticmethod]
    #[pyo3(signature = (*, id = "_id", key, payload = "payload", timestamp = None,
        route_by = "aggregatetype", expands_payload = false, tombstones = false,
        rejects_updates = false, additional = Vec::new(), ignores_missing = false,
        key_converter = "encoding", value_converter = "encoding", topic_of))]
    #[allow(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "Python passes them by name"
    )]
    fn event_router(
        id: &str,
        key: &str,
        payload: &str,
        timestamp: Option<String>,
        route_by: &str,
        expands_payload: bool,
        tombstones: bool,
        rejects_updates: bool,
        additional: Vec<(String, String, String)>,
        ignores_missing: bool,
        key_converter: &str,
        value_converter: &str,
        topic_of: Py<PyAny>,
    ) -> PyResult<Self> {
        let additional = additional.into_iter().map(|(field, placement, alias)| {
            let placement = choose("placement", &placement, &PLACEMENTS)?;
            Ok(AdditionalField {
                field,
                placement,
                alias,
            })
        });
        Ok(Self {
            transform: Transform::EventRouter(EventRouter {
                id: id.to_owned(),
                key: key.to_owned(),
                payload: payload.to_owned(),
                timestamp,
                route_by: route_by.to_owned(),
                expands_payload,
                tombstones,
                rejects_updates,
                additional: additional.collect::<PyResult<_>>()?,
                ignores_missing,
                key_converter: choose("key_converter", key_converter, &CONVERTERS)?,
                value_converter: choose("value_converter", value_converter, &CONVERTERS)?,
            }),
            topic_of: Some(topic_of),
        })
    }
}

impl MongoTransform {
    pub fn topic_of(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.topic_of.as_ref().map(|topic| topic.clone_ref(py))
    }
}

fn rejected(error: MemberError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
