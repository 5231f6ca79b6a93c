//! Extracts the `_id` of a raw document as a separate document, `{_id: …}`.

use crate::bson::Document;
use crate::bson_writer::{close, open, write_element};
use crate::change::id_of;
use crate::error::Result;

/// Returns `{_id: …}`, byte for byte: a query bound that differs from the server's value could
/// exclude documents.
pub fn id_document(bytes: &[u8]) -> Result<Vec<u8>> {
    let id = id_of(Document::parse(bytes)?)?;
    let mut out = Vec::new();
    let start = open(&mut out);
    write_element(&mut out, &id);
    close(&mut out, start)?;
    Ok(out)
}
