//! The envelope of Debezium 1.4 to 1.7, which read the oplog: an update is a `patch` of operators, and
//! what is updated or deleted is told by a `filter`.

use super::Setting;
use super::envelope::{write_document, write_integer};
use super::source::{Source, write_place, write_start};
use crate::bson::{Document, Value};
use crate::change::{
    Change, Operation, SnapshotMark, Transaction, UpdateDescription, integer, text,
};
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::json;
use crate::transaction::write_part;
use crate::writing::{close, open, write_element, write_head};

pub(super) fn write_value(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let format = setting.format;
    let is_update = matches!(change.operation, Operation::Update | Operation::Replace);
    out.extend_from_slice(br#"{"after":"#);
    write_document(out, change.after.filter(|_| !is_update), format)?;
    out.extend_from_slice(br#","patch":"#);
    match (change.operation, change.update) {
        (Operation::Update, update) => {
            let patch = patch(update.unwrap_or_default())?;
            write_document(out, Some(Document::parse(&patch)?), format)?;
        }
        // The oplog has the whole document.
        (Operation::Replace, _) => write_document(out, change.after, format)?,
        _ => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","filter":"#);
    let filter = if is_update || change.operation == Operation::Delete {
        Some(Document::parse(change.key)?)
    } else {
        None
    };
    write_document(out, filter, format)?;
    out.push(b',');
    write_source(out, &Source::from(change), format)?;
    out.extend_from_slice(br#","op":""#);
    out.extend_from_slice(change.operation.letter().as_bytes());
    out.extend_from_slice(br#"","ts_ms":"#);
    write_integer(out, setting.at_ns.div_euclid(1_000_000));
    out.push(b',');
    write_part(out, setting.part);
    out.push(b'}');
    Ok(())
}

/// What `source` was before Debezium 0.10, and is with `source.struct.version=v1`.
fn write_first_source(out: &mut Vec<u8>, source: &Source<'_>, format: &EventFormat) {
    out.extend_from_slice(br#""source":{"version":"#);
    json::write_text(out, format.connector_version.as_bytes());
    out.extend_from_slice(br#","connector":"mongodb","name":"#);
    json::write_text(out, format.topic_prefix.as_bytes());
    out.extend_from_slice(br#","rs":"#);
    json::write_text(out, format.replica_set.as_bytes());
    out.extend_from_slice(br#","ns":"#);
    let names: Vec<&[u8]> = source
        .database
        .into_iter()
        .chain(source.collection)
        .collect();
    json::write_text(out, &names.join(&b'.'));
    out.extend_from_slice(br#","sec":"#);
    write_integer(out, source.cluster_time.seconds);
    out.extend_from_slice(br#","ord":"#);
    write_integer(out, source.cluster_time.increment);
    let is_copied = source
        .snapshot
        .is_some_and(|mark| mark != SnapshotMark::Incremental);
    out.extend_from_slice(br#","h":null,"initsync":"#);
    out.extend_from_slice(if is_copied { b"true" } else { b"false" });
    out.push(b'}');
}

/// `h`, the oplog's hash, is not in change streams, and has been no number of its own since MongoDB 4.0.
pub(super) fn write_source(
    out: &mut Vec<u8>,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    if format.is_first_source {
        write_first_source(out, source, format);
        return Ok(());
    }
    write_start(out, source, format);
    out.extend_from_slice(br#","rs":"#);
    json::write_text(out, format.replica_set.as_bytes());
    out.push(b',');
    write_place(out, source);
    out.extend_from_slice(br#","h":null,"tord":"#);
    match &source.transaction {
        Some(transaction) => {
            write_integer(out, source.transaction_index.saturating_add(1));
            out.extend_from_slice(br#","stxnid":"#);
            json::write_text(out, &session_transaction(transaction)?);
        }
        None => out.extend_from_slice(br#"null,"stxnid":null"#),
    }
    out.push(b'}');
    Ok(())
}

/// `UUID of the session:number`
fn session_transaction(transaction: &Transaction<'_>) -> Result<Vec<u8>, BsonError> {
    let mut session = Vec::new();
    let mut members = transaction.lsid.elements();
    while let Some(member) = members.read()? {
        if let (b"id", Value::Binary { bytes, .. }) = (member.name, member.value) {
            for (place, byte) in bytes.iter().enumerate() {
                if matches!(place, 4 | 6 | 8 | 10) {
                    session.push(b'-');
                }
                session.extend_from_slice(format!("{byte:02x}").as_bytes());
            }
        }
    }
    session.push(b':');
    session.extend_from_slice(transaction.number.to_string().as_bytes());
    Ok(session)
}

/// The description of an update as update operators, as the oplog had it:
/// `{$v: 1, $set: …, $unset: …, $push: …}`. Arrays that became shorter are cut with `$push` and
/// `$slice`, so applying it once more changes nothing.
fn patch(update: UpdateDescription<'_>) -> Result<Vec<u8>, BsonError> {
    const DOCUMENT: u8 = 3;
    const ARRAY: u8 = 4;
    const BOOLEAN: u8 = 8;
    let mut out = Vec::new();
    let start = open(&mut out);
    write_number(&mut out, b"$v", 1);
    if let Some(fields) = update.updated_fields.filter(has_elements) {
        write_head(&mut out, DOCUMENT, b"$set");
        let inner = open(&mut out);
        let mut elements = fields.elements();
        while let Some(element) = elements.read()? {
            write_element(&mut out, &element);
        }
        close(&mut out, inner)?;
    }
    if let Some(fields) = update.removed_fields.filter(has_elements) {
        write_head(&mut out, DOCUMENT, b"$unset");
        let inner = open(&mut out);
        let mut elements = fields.elements();
        while let Some(element) = elements.read()? {
            write_head(&mut out, BOOLEAN, text(&element, "removedFields")?);
            out.push(1);
        }
        close(&mut out, inner)?;
    }
    if let Some(arrays) = update.truncated_arrays.filter(has_elements) {
        write_head(&mut out, DOCUMENT, b"$push");
        let inner = open(&mut out);
        let mut elements = arrays.elements();
        while let Some(element) = elements.read()? {
            let (field, new_size) = truncated(&element.value)?;
            write_head(&mut out, DOCUMENT, field);
            let cut = open(&mut out);
            write_head(&mut out, ARRAY, b"$each");
            let nothing = open(&mut out);
            close(&mut out, nothing)?;
            write_number(&mut out, b"$slice", new_size);
            close(&mut out, cut)?;
        }
        close(&mut out, inner)?;
    }
    close(&mut out, start)?;
    Ok(out)
}

fn has_elements(document: &Document<'_>) -> bool {
    const EMPTY_BYTES: usize = 5;
    document.bytes().len() > EMPTY_BYTES
}

fn write_number(out: &mut Vec<u8>, name: &[u8], number: i32) {
    const INT32: u8 = 0x10;
    write_head(out, INT32, name);
    out.extend_from_slice(&number.to_le_bytes());
}

fn truncated<'b>(value: &Value<'b>) -> Result<(&'b [u8], i32), BsonError> {
    let mut field: &[u8] = b"";
    let mut new_size = 0;
    if let Value::Document(truncated) = value {
        let mut members = truncated.elements();
        while let Some(member) = members.read()? {
            match member.name {
                b"field" => field = text(&member, "truncatedArrays.field")?,
                b"newSize" => {
                    let size = integer(&member, "truncatedArrays.newSize")?;
                    new_size = i32::try_from(size).unwrap_or(i32::MAX);
                }
                _ => {}
            }
        }
    }
    Ok((field, new_size))
}
