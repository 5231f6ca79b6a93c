//! The envelope of Debezium 3: no `rs`, but `wallTime`, microseconds and nanoseconds.

use super::Setting;
use super::envelope::{write_images, write_operation, write_optional, write_update};
use super::source::{Source, write_place, write_session, write_start};
use crate::change::Change;
use crate::error::BsonError;
use crate::form::Form;
use crate::format::EventFormat;
use crate::transaction::write_part;

pub(super) fn write_value<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let (format, at_ns) = (setting.format, setting.at_ns);
    form.literal(b"{");
    write_images(form, change, format)?;
    form.literal(b",");
    write_update(form, change, format)?;
    form.literal(b",");
    write_source(form, &Source::from(change), format)?;
    write_operation(form, change.operation, at_ns);
    form.literal(br#","ts_us":"#);
    write_optional(form, Some(at_ns.div_euclid(1000)));
    form.literal(br#","ts_ns":"#);
    write_optional(form, Some(at_ns));
    form.literal(b",");
    write_part(form, setting.part);
    form.literal(b"}");
    Ok(())
}

pub(super) fn write_source<F: Form + ?Sized>(
    form: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    write_start(form, source, format);
    let source_us = source.ts_ms.saturating_mul(1000);
    form.literal(br#","ts_us":"#);
    write_optional(form, Some(source_us));
    form.literal(br#","ts_ns":"#);
    write_optional(form, source_us.checked_mul(1000));
    form.literal(b",");
    write_place(form, source);
    write_session(form, source)?;
    form.literal(br#","wallTime":"#);
    write_optional(form, source.wall_time_ms);
    form.literal(b"}");
    Ok(())
}
