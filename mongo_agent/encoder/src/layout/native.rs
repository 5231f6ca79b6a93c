//! Writes the change event as the server sends it. As in MongoDB's connector, a snapshot document
//! becomes an insert whose `_id` marks it as copied. With a schema, the event is a string.

use crate::change::{Change, Operation};
use crate::error::Result;
use crate::format::EventFormat;
use crate::json::{write_document, write_text, write_value as write_json};
use crate::value_writer::ValueWriter;

pub(super) fn write_value<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    format: &EventFormat,
) -> Result<()> {
    writer.nested(&mut |out| write_event(out, change, format))
}

fn write_event(out: &mut Vec<u8>, change: &Change<'_>, format: &EventFormat) -> Result<()> {
    let flavour = format.document_json.of_documents();
    if change.operation != Operation::Read {
        return write_document(out, change.raw, flavour);
    }
    out.extend_from_slice(br#"{"_id": {"_id": "#);
    write_json(out, &change.id, flavour)?;
    out.extend_from_slice(br#","copyingData": true},"operationType": "insert","ns": {"db": "#);
    write_text(out, change.database);
    out.extend_from_slice(br#","coll": "#);
    write_text(out, change.collection);
    out.extend_from_slice(br#"},"documentKey": {"_id": "#);
    write_json(out, &change.id, flavour)?;
    out.extend_from_slice(br#"},"fullDocument": "#);
    write_document(out, change.raw, flavour)?;
    out.push(b'}');
    Ok(())
}
