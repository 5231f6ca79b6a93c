//! The envelope of Debezium 2.1: `rs` in `source`, milliseconds only, and two oplog members, which
//! are null.

use super::ValueContext;
use super::envelope::{write_images, write_operation, write_update};
use super::source::{Source, write_place, write_session, write_start};
use crate::change::Change;
use crate::error::Result;
use crate::format::EventFormat;
use crate::transaction::write_order;
use crate::value_writer::ValueWriter;

pub(super) fn write_value<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    context: &ValueContext<'_>,
) -> Result<()> {
    let format = context.format;
    writer.literal(b"{");
    write_images(writer, change, format)?;
    writer.literal(br#","patch":"#);
    writer.null();
    writer.literal(br#","filter":"#);
    writer.null();
    writer.literal(b",");
    write_update(writer, change, format)?;
    writer.literal(b",");
    write_source(writer, &Source::from(change), format)?;
    write_operation(writer, change.operation, context.at_ns);
    writer.literal(b",");
    write_order(writer, context.order);
    writer.literal(b"}");
    Ok(())
}

pub(super) fn write_source<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<()> {
    write_start(writer, source, format);
    writer.literal(br#","rs":"#);
    writer.text(format.replica_set.as_bytes());
    writer.literal(b",");
    write_place(writer, source);
    write_session(writer, source)?;
    writer.literal(b"}");
    Ok(())
}
