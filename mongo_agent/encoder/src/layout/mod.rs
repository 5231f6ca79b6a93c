//! Values of messages, one file for each layout.

mod debezium_1;
mod debezium_21;
mod debezium_3;
mod envelope;
mod native;
pub(crate) mod other;
mod source;

use crate::change::Change;
use crate::error::BsonError;
use crate::form::Form;
use crate::format::{EventFormat, Layout};
use crate::transaction::Part;
use source::Source;

/// What a value needs beside the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'s> {
    pub format: &'s EventFormat,
    /// When it is published, nanoseconds.
    pub at_ns: i64,
    /// Name of the transaction and the numbers in it.
    pub part: Option<(&'s str, Part)>,
}

/// Appends the value of a change.
pub(crate) fn write_value<F: Form>(
    form: &mut F,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    match setting.format.layout {
        Layout::Debezium3 => debezium_3::write_value(form, change, setting),
        Layout::Debezium1 => debezium_1::write_value(form, change, setting),
        Layout::Debezium21 => debezium_21::write_value(form, change, setting),
        Layout::Native => native::write_value(form, change, setting.format),
    }
}

/// `"source":{…}`; the native layout has none of its own.
fn write_source<F: Form + ?Sized>(
    form: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    match format.layout {
        Layout::Debezium1 => debezium_1::write_source(form, source, format),
        Layout::Debezium21 => debezium_21::write_source(form, source, format),
        Layout::Debezium3 | Layout::Native => debezium_3::write_source(form, source, format),
    }
}
