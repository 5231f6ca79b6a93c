//! The change event as the server sends it. A copied document becomes an insert whose `_id` says that
//! it was copied, as the connector of MongoDB has it. To a schema it is text.

use crate::change::{Change, Operation};
use crate::error::BsonError;
use crate::form::Form;
use crate::format::EventFormat;
use crate::json::{write_document, write_text, write_value as write_json};

pub(super) fn write_value<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    form.nested(&mut |out| write_event(out, change, format))
}

fn write_event(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    let (flavour, spacing) = format.document_json.of_documents();
    if change.operation != Operation::Read {
        return write_document(out, change.raw, flavour, spacing);
    }
    out.extend_from_slice(br#"{"_id": {"_id": "#);
    write_json(out, &change.id, flavour, spacing)?;
    out.extend_from_slice(br#","copyingData": true},"operationType": "insert","ns": {"db": "#);
    write_text(out, change.database);
    out.extend_from_slice(br#","coll": "#);
    write_text(out, change.collection);
    out.extend_from_slice(br#"},"documentKey": {"_id": "#);
    write_json(out, &change.id, flavour, spacing)?;
    out.extend_from_slice(br#"},"fullDocument": "#);
    write_document(out, change.raw, flavour, spacing)?;
    out.push(b'}');
    Ok(())
}
