//! `source`: where an event comes from.

use super::envelope::write_integer;
use crate::bson::Timestamp;
use crate::change::{Change, OtherEvent, SnapshotMark, Transaction};
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::json;

/// What the block tells of any event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'b> {
    pub database: Option<&'b [u8]>,
    pub collection: Option<&'b [u8]>,
    pub cluster_time: Timestamp,
    pub wall_time_ms: Option<i64>,
    /// Milliseconds.
    pub ts_ms: i64,
    pub snapshot: Option<SnapshotMark>,
    pub transaction: Option<Transaction<'b>>,
    pub transaction_index: u64,
}

impl<'b> From<&Change<'b>> for Source<'b> {
    fn from(change: &Change<'b>) -> Self {
        Self {
            database: Some(change.database),
            collection: Some(change.collection),
            cluster_time: change.cluster_time,
            wall_time_ms: change.wall_time_ms,
            ts_ms: change.source_ms,
            snapshot: change.snapshot,
            transaction: change.transaction,
            transaction_index: change.transaction_index,
        }
    }
}

impl<'b> From<&OtherEvent<'b>> for Source<'b> {
    fn from(event: &OtherEvent<'b>) -> Self {
        Self {
            database: event.database,
            collection: event.collection,
            cluster_time: event.cluster_time,
            wall_time_ms: event.wall_time_ms,
            ts_ms: event.source_ms,
            snapshot: None,
            transaction: event.transaction,
            transaction_index: event.transaction_index,
        }
    }
}

/// `"source":{…` up to `"sequence":null`, which all releases begin with.
pub(super) fn write_start(out: &mut Vec<u8>, source: &Source<'_>, format: &EventFormat) {
    out.extend_from_slice(br#""source":{"version":"#);
    json::write_text(out, format.connector_version.as_bytes());
    out.extend_from_slice(br#","connector":"mongodb","name":"#);
    json::write_text(out, format.topic_prefix.as_bytes());
    out.extend_from_slice(br#","ts_ms":"#);
    write_integer(out, source.ts_ms);
    out.extend_from_slice(br#","snapshot":""#);
    out.extend_from_slice(
        source
            .snapshot
            .map_or("false", |mark| mark.name())
            .as_bytes(),
    );
    out.extend_from_slice(br#"","db":"#);
    write_text_or_null(out, source.database);
    out.extend_from_slice(br#","sequence":null"#);
}

/// `"collection":…,"ord":…`
pub(super) fn write_place(out: &mut Vec<u8>, source: &Source<'_>) {
    out.extend_from_slice(br#""collection":"#);
    write_text_or_null(out, source.collection);
    out.extend_from_slice(br#","ord":"#);
    write_integer(out, source.cluster_time.increment);
}

/// `,"lsid":…,"txnNumber":…`
pub(super) fn write_session(out: &mut Vec<u8>, source: &Source<'_>) -> Result<(), BsonError> {
    match &source.transaction {
        Some(transaction) => {
            out.extend_from_slice(br#","lsid":""#);
            let (flavour, spacing) = (json::Flavour::Strict, json::Spacing::Compact);
            json::write_document_in_string(out, transaction.lsid, flavour, spacing)?;
            out.extend_from_slice(br#"","txnNumber":"#);
            write_integer(out, transaction.number);
        }
        None => out.extend_from_slice(br#","lsid":null,"txnNumber":null"#),
    }
    Ok(())
}

fn write_text_or_null(out: &mut Vec<u8>, text: Option<&[u8]>) {
    match text {
        Some(text) => json::write_text(out, text),
        None => out.extend_from_slice(b"null"),
    }
}
