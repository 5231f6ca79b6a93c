//! The envelope of Debezium 1.4 to 1.7, which read the oplog: an update is a `patch` of operators,
//! and a `filter` selects the document of an update or a delete.

use super::ValueContext;
use super::envelope::{read_truncated, write_document, write_operation, write_optional};
use super::source::{write_place, write_start};
use crate::bson::{Document, Element, Value};
use crate::bson_writer::{close, open, write_element, write_head};
use crate::change::{Change, Operation, SnapshotMarker, Source, Transaction, UpdateDescription};
use crate::element::text;
use crate::error::Result;
use crate::format::EventFormat;
use crate::transaction::write_order;
use crate::value_writer::ValueWriter;

const DOCUMENT: u8 = 3;

pub(super) fn write_value<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    context: &ValueContext<'_>,
) -> Result<()> {
    let format = context.format;
    let is_update = matches!(change.operation, Operation::Update | Operation::Replace);
    writer.literal(br#"{"after":"#);
    write_document(writer, change.after.filter(|_| !is_update), format)?;
    writer.literal(br#","patch":"#);
    match (change.operation, change.update) {
        (Operation::Update, update) => {
            let patch = patch(update.unwrap_or_default())?;
            write_document(writer, Some(Document::parse(&patch)?), format)?;
        }
        // For a replacement, the oplog contains the whole document.
        (Operation::Replace, _) => write_document(writer, change.after, format)?,
        _ => writer.null(),
    }
    writer.literal(br#","filter":"#);
    let filter = if is_update || change.operation == Operation::Delete {
        Some(Document::parse(change.key)?)
    } else {
        None
    };
    write_document(writer, filter, format)?;
    writer.literal(b",");
    write_source(writer, &change.source, format)?;
    write_operation(writer, change.operation, context.at_ns);
    writer.literal(b",");
    write_order(writer, context.order);
    writer.literal(b"}");
    Ok(())
}

/// Writes `source` like releases before 0.10 (`source.struct.version=v1`).
fn write_first_source<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) {
    writer.literal(br#""source":{"version":"#);
    writer.present();
    writer.text(format.connector_version.as_bytes());
    writer.literal(br#","connector":"#);
    writer.present();
    writer.plain("mongodb");
    writer.literal(br#","name":"#);
    writer.text(format.topic_prefix.as_bytes());
    writer.literal(br#","rs":"#);
    writer.text(format.replica_set.as_bytes());
    writer.literal(br#","ns":"#);
    let names: Vec<&[u8]> = source
        .database
        .into_iter()
        .chain(source.collection)
        .collect();
    writer.text(&names.join(&b'.'));
    writer.literal(br#","sec":"#);
    writer.unsigned(source.cluster_time.seconds);
    writer.literal(br#","ord":"#);
    writer.unsigned(source.cluster_time.increment);
    let is_copied = source
        .snapshot
        .is_some_and(|mark| mark != SnapshotMarker::Incremental);
    writer.literal(br#","h":"#);
    writer.null();
    writer.literal(br#","initsync":"#);
    writer.present_by_default();
    writer.boolean(is_copied);
    writer.literal(b"}");
}

/// Change streams do not contain `h`, the oplog's hash, which is constant since MongoDB 4.0.
pub(super) fn write_source<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<()> {
    if format.is_first_source {
        write_first_source(writer, source, format);
        return Ok(());
    }
    write_start(writer, source, format);
    writer.literal(br#","rs":"#);
    writer.text(format.replica_set.as_bytes());
    writer.literal(b",");
    write_place(writer, source);
    writer.literal(br#","h":"#);
    writer.null();
    writer.literal(br#","tord":"#);
    let transaction = source.transaction.as_ref();
    let order = i64::try_from(source.transaction_index).unwrap_or(i64::MAX);
    write_optional(writer, transaction.map(|_| order.saturating_add(1)));
    writer.literal(br#","stxnid":"#);
    match transaction {
        Some(transaction) => {
            writer.present();
            writer.text(&session_transaction(transaction)?);
        }
        None => writer.null(),
    }
    writer.literal(b"}");
    Ok(())
}

/// Returns the session as `UUID:txnNumber`.
fn session_transaction(transaction: &Transaction<'_>) -> Result<Vec<u8>> {
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

/// Converts an update description to the oplog's update operators:
/// `{$v: 1, $set: …, $unset: …, $push: …}`. `$push` with `$slice` truncates arrays, so the update
/// is idempotent.
fn patch(update: UpdateDescription<'_>) -> Result<Vec<u8>> {
    const ARRAY: u8 = 4;
    const BOOLEAN: u8 = 8;
    let mut out = Vec::new();
    let start = open(&mut out);
    write_number(&mut out, b"$v", 1);
    write_operator(&mut out, b"$set", update.updated_fields, |out, element| {
        write_element(out, element);
        Ok(())
    })?;
    write_operator(
        &mut out,
        b"$unset",
        update.removed_fields,
        |out, element| {
            write_head(out, BOOLEAN, text(element, "removedFields")?);
            out.push(1);
            Ok(())
        },
    )?;
    write_operator(
        &mut out,
        b"$push",
        update.truncated_arrays,
        |out, element| {
            let (field, new_size) = read_truncated(element)?;
            write_head(out, DOCUMENT, field);
            let cut = open(out);
            write_head(out, ARRAY, b"$each");
            let nothing = open(out);
            close(out, nothing)?;
            write_number(out, b"$slice", i32::try_from(new_size).unwrap_or(i32::MAX));
            close(out, cut)
        },
    )?;
    close(&mut out, start)?;
    Ok(out)
}

/// Writes an operator with its operands, unless there are none.
fn write_operator(
    out: &mut Vec<u8>,
    name: &[u8],
    operands: Option<Document<'_>>,
    write: impl Fn(&mut Vec<u8>, &Element<'_>) -> Result<()>,
) -> Result<()> {
    let Some(operands) = operands.filter(has_elements) else {
        return Ok(());
    };
    write_head(out, DOCUMENT, name);
    let start = open(out);
    let mut elements = operands.elements();
    while let Some(element) = elements.read()? {
        write(out, &element)?;
    }
    close(out, start)
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
