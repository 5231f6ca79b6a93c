//! Extracts the `_id` of a raw document as a separate document, `{_id: …}`.

use crate::bson::Document;
use crate::bson_writer::{close, open, write_element};
use crate::error::{Problem, Result};

const ID: &str = "_id";

/// Returns `{_id: …}`, byte for byte: a query bound that differs from the server's value could
/// exclude documents.
pub fn id_document(bytes: &[u8]) -> Result<Vec<u8>> {
    let document = Document::parse(bytes)?;
    let id = document
        .find(ID.as_bytes())?
        .ok_or_else(|| Problem::Missing { member: ID }.at_offset(document.offset()))?;
    let mut out = Vec::new();
    let start = open(&mut out);
    write_element(&mut out, &id);
    close(&mut out, start)?;
    Ok(out)
}
