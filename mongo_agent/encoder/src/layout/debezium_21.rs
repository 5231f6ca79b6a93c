//! The envelope of Debezium 2.1: `rs` in the source, milliseconds only, and two members of the
//! oplog's time, which are null.

use super::Setting;
use super::envelope::{write_images, write_operation, write_update};
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
    let format = setting.format;
    form.literal(b"{");
    write_images(form, change, format)?;
    form.literal(br#","patch":"#);
    form.null();
    form.literal(br#","filter":"#);
    form.null();
    form.literal(b",");
    write_update(form, change, format)?;
    form.literal(b",");
    write_source(form, &Source::from(change), format)?;
    write_operation(form, change.operation, setting.at_ns);
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
    form.literal(br#","rs":"#);
    form.text(format.replica_set.as_bytes());
    form.literal(b",");
    write_place(form, source);
    write_session(form, source)?;
    form.literal(b"}");
    Ok(())
}
