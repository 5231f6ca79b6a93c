//! Writes `source`, the origin of an event.

use super::envelope::write_optional;
use crate::change::Source;
use crate::error::Result;
use crate::format::EventFormat;
use crate::json::Flavour;
use crate::value_writer::ValueWriter;

/// Writes `"source":{…` up to `"sequence":null`, its start since release 0.10.
pub(super) fn write_start<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) {
    writer.literal(br#""source":{"version":"#);
    writer.text(format.connector_version.as_bytes());
    writer.literal(br#","connector":"#);
    writer.plain("mongodb");
    writer.literal(br#","name":"#);
    writer.text(format.topic_prefix.as_bytes());
    writer.literal(br#","ts_ms":"#);
    writer.number(source.ts_ms);
    writer.literal(br#","snapshot":"#);
    writer.present_by_default();
    writer.plain(source.snapshot.map_or("false", |mark| mark.name()));
    writer.literal(br#","db":"#);
    writer.text_or_null(source.database);
    writer.literal(br#","sequence":"#);
    writer.null();
}

/// `"collection":…,"ord":…`
pub(super) fn write_place<F: ValueWriter + ?Sized>(writer: &mut F, source: &Source<'_>) {
    writer.literal(br#""collection":"#);
    writer.text_or_null(source.collection);
    writer.literal(br#","ord":"#);
    writer.unsigned(source.cluster_time.increment);
}

/// `,"lsid":…,"txnNumber":…`
pub(super) fn write_session<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
) -> Result<()> {
    writer.literal(br#","lsid":"#);
    match &source.transaction {
        Some(transaction) => {
            writer.present();
            writer.document(transaction.lsid, Flavour::Strict)?;
        }
        None => writer.null(),
    }
    writer.literal(br#","txnNumber":"#);
    let number = source.transaction.as_ref();
    write_optional(writer, number.map(|transaction| transaction.number));
    Ok(())
}
