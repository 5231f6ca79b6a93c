//! The envelopes of Debezium 2.1 and 3. Only 2.1 has `rs` in `source` and two oplog members, which
//! are null; only 3 has `wallTime`, microseconds and nanoseconds.

use super::ValueContext;
use super::envelope::{write_images, write_operation, write_optional, write_update};
use super::source::{write_place, write_session, write_start};
use crate::change::{Change, Source};
use crate::error::Result;
use crate::format::EventFormat;
use crate::transaction::write_order;
use crate::value_writer::ValueWriter;

pub(super) fn write_value<F: ValueWriter, const IS_3: bool>(
    writer: &mut F,
    change: &Change<'_>,
    context: &ValueContext<'_>,
) -> Result<()> {
    let (format, at_ns) = (context.format, context.at_ns);
    writer.literal(b"{");
    write_images(writer, change, format)?;
    if !IS_3 {
        writer.literal(br#","patch":"#);
        writer.null();
        writer.literal(br#","filter":"#);
        writer.null();
    }
    writer.literal(b",");
    write_update(writer, change, format)?;
    writer.literal(b",");
    write_source::<F, IS_3>(writer, &change.source, format)?;
    write_operation(writer, change.operation, at_ns);
    if IS_3 {
        writer.literal(br#","ts_us":"#);
        write_optional(writer, Some(at_ns.div_euclid(1000)));
        writer.literal(br#","ts_ns":"#);
        write_optional(writer, Some(at_ns));
    }
    writer.literal(b",");
    write_order(writer, context.order);
    writer.literal(b"}");
    Ok(())
}

pub(super) fn write_source<F: ValueWriter + ?Sized, const IS_3: bool>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<()> {
    write_start(writer, source, format);
    if IS_3 {
        let source_us = source.ts_ms.saturating_mul(1000);
        writer.literal(br#","ts_us":"#);
        write_optional(writer, Some(source_us));
        writer.literal(br#","ts_ns":"#);
        write_optional(writer, source_us.checked_mul(1000));
    } else {
        writer.literal(br#","rs":"#);
        writer.text(format.replica_set.as_bytes());
    }
    writer.literal(b",");
    write_place(writer, source);
    write_session(writer, source)?;
    if IS_3 {
        writer.literal(br#","wallTime":"#);
        write_optional(writer, source.wall_time_ms);
    }
    writer.literal(b"}");
    Ok(())
}
