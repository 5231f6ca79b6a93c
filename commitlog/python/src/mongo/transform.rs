//! `MongoTransform`: a transformation of events.

use mongo_encoder::format::Layout;
use mongo_encoder::transform::{
    ArrayEncoding, DeleteHandling, ExtractDocument, MemberError, NamedMember, Transform,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::format::{NAMES, choose, unknown};

const ARRAYS: [(&str, ArrayEncoding); 2] = [
    ("array", ArrayEncoding::Array),
    ("document", ArrayEncoding::Document),
];

/// A transformation of the events of documents.
#[pyclass(frozen, module = "mongo_agent.encoder")]
pub struct MongoTransform(pub Transform);

#[pymethods]
impl MongoTransform {
    /// `ExtractNewDocumentState`.
    #[staticmethod]
    #[pyo3(signature = (*, layout = "debezium-3", arrays = "array", delimiter = None,
        deletes = "tombstone", rewrites_with_id = false, fields = Vec::new(), field_prefix = "__",
        headers = Vec::new(), header_prefix = "__", names = "none"))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
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
    ) -> PyResult<Self> {
        let layout = Layout::named(layout).ok_or_else(|| unknown("layout", layout))?;
        let deletes = DeleteHandling::ALL
            .into_iter()
            .find(|of| of.name() == deletes)
            .ok_or_else(|| unknown("deletes", deletes))?;
        let fields = fields
            .iter()
            .map(|text| NamedMember::parse(field_prefix, text, layout).map_err(rejected))
            .collect::<PyResult<_>>()?;
        let headers = headers
            .iter()
            .map(|text| NamedMember::parse_header(header_prefix, text, layout).map_err(rejected))
            .collect::<PyResult<_>>()?;
        Ok(Self(Transform::ExtractDocument(ExtractDocument {
            arrays: choose("arrays", arrays, &ARRAYS)?,
            delimiter,
            deletes,
            rewrites_with_id,
            fields,
            headers,
            names: choose("names", names, &NAMES)?,
        })))
    }
}

fn rejected(error: MemberError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
