//! The envelope of Debezium 1.4 to 1.7, which read the oplog: an update is a `patch` of operators, and
//! what is updated or deleted is told by a `filter`.

use super::Setting;
use super::envelope::{write_document, write_operation, write_optional};
use super::source::{Source, write_place, write_start};
use crate::bson::{Document, Value};
use crate::change::{
    Change, Operation, SnapshotMark, Transaction, UpdateDescription, integer, text,
};
use crate::error::BsonError;
use crate::form::Form;
use crate::format::EventFormat;
use crate::transaction::write_part;
use crate::writing::{close, open, write_element, write_head};

pub(super) fn write_value<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let format = setting.format;
    let is_update = matches!(change.operation, Operation::Update | Operation::Replace);
    form.literal(br#"{"after":"#);
    write_document(form, change.after.filter(|_| !is_update), format)?;
    form.literal(br#","patch":"#);
    match (change.operation, change.update) {
        (Operation::Update, update) => {
            let patch = patch(update.unwrap_or_default())?;
            write_document(form, Some(Document::parse(&patch)?), format)?;
        }
        // The oplog has the whole document.
        (Operation::Replace, _) => write_document(form, change.after, format)?,
        _ => form.null(),
    }
    form.literal(br#","filter":"#);
    let filter = if is_update || change.operation == Operation::Delete {
        Some(Document::parse(change.key)?)
    } else {
        None
    };
    write_document(form, filter, format)?;
    form.literal(b",");
    write_source(form, &Source::from(change), format)?;
    write_operation(form, change.operation, setting.at_ns);
    form.literal(b",");
    write_part(form, setting.part);
    form.literal(b"}");
    Ok(())
}

/// What `source` was before Debezium 0.10, and is with `source.struct.version=v1`.
fn write_first_source<F: Form + ?Sized>(form: &mut F, source: &Source<'_>, format: &EventFormat) {
    form.literal(br#""source":{"version":"#);
    form.there();
    form.text(format.connector_version.as_bytes());
    form.literal(br#","connector":"#);
    form.there();
    form.plain("mongodb");
    form.literal(br#","name":"#);
    form.text(format.topic_prefix.as_bytes());
    form.literal(br#","rs":"#);
    form.text(format.replica_set.as_bytes());
    form.literal(br#","ns":"#);
    let names: Vec<&[u8]> = source
        .database
        .into_iter()
        .chain(source.collection)
        .collect();
    form.text(&names.join(&b'.'));
    form.literal(br#","sec":"#);
    form.unsigned(source.cluster_time.seconds);
    form.literal(br#","ord":"#);
    form.unsigned(source.cluster_time.increment);
    let is_copied = source
        .snapshot
        .is_some_and(|mark| mark != SnapshotMark::Incremental);
    form.literal(br#","h":"#);
    form.null();
    form.literal(br#","initsync":"#);
    form.there_by_default();
    form.boolean(is_copied);
    form.literal(b"}");
}

/// `h`, the oplog's hash, is not in change streams, and has been no number of its own since MongoDB 4.0.
pub(super) fn write_source<F: Form + ?Sized>(
    form: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    if format.is_first_source {
        write_first_source(form, source, format);
        return Ok(());
    }
    write_start(form, source, format);
    form.literal(br#","rs":"#);
    form.text(format.replica_set.as_bytes());
    form.literal(b",");
    write_place(form, source);
    form.literal(br#","h":"#);
    form.null();
    form.literal(br#","tord":"#);
    let transaction = source.transaction.as_ref();
    let order = i64::try_from(source.transaction_index).unwrap_or(i64::MAX);
    write_optional(form, transaction.map(|_| order.saturating_add(1)));
    form.literal(br#","stxnid":"#);
    match transaction {
        Some(transaction) => {
            form.there();
            form.text(&session_transaction(transaction)?);
        }
        None => form.null(),
    }
    form.literal(b"}");
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
