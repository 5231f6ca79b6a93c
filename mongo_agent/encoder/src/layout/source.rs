//! `source`: where an event comes from.

use super::envelope::write_optional;
use crate::bson::Timestamp;
use crate::change::{Change, OtherEvent, SnapshotMark, Transaction};
use crate::error::BsonError;
use crate::form::Form;
use crate::format::EventFormat;
use crate::json::{Flavour, Spacing};

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
pub(super) fn write_start<F: Form + ?Sized>(
    form: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) {
    form.literal(br#""source":{"version":"#);
    form.text(format.connector_version.as_bytes());
    form.literal(br#","connector":"#);
    form.plain("mongodb");
    form.literal(br#","name":"#);
    form.text(format.topic_prefix.as_bytes());
    form.literal(br#","ts_ms":"#);
    form.number(source.ts_ms);
    form.literal(br#","snapshot":"#);
    form.there_by_default();
    form.plain(source.snapshot.map_or("false", |mark| mark.name()));
    form.literal(br#","db":"#);
    form.text_or_null(source.database);
    form.literal(br#","sequence":"#);
    form.null();
}

/// `"collection":…,"ord":…`
pub(super) fn write_place<F: Form + ?Sized>(form: &mut F, source: &Source<'_>) {
    form.literal(br#""collection":"#);
    form.text_or_null(source.collection);
    form.literal(br#","ord":"#);
    form.unsigned(source.cluster_time.increment);
}

/// `,"lsid":…,"txnNumber":…`
pub(super) fn write_session<F: Form + ?Sized>(
    form: &mut F,
    source: &Source<'_>,
) -> Result<(), BsonError> {
    form.literal(br#","lsid":"#);
    match &source.transaction {
        Some(transaction) => {
            form.there();
            form.document(transaction.lsid, Flavour::Strict, Spacing::Compact)?;
        }
        None => form.null(),
    }
    form.literal(br#","txnNumber":"#);
    let number = source.transaction.as_ref();
    write_optional(form, number.map(|transaction| transaction.number));
    Ok(())
}
