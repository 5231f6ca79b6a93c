//! Values of messages, one file for each layout.

mod debezium_21;
mod debezium_3;
mod envelope;
mod native;

use crate::change::Change;
use crate::error::BsonError;
use crate::format::{EventFormat, Layout};

/// Appends the value of a change that is published at a time, nanoseconds.
pub(crate) fn write_value(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    format: &EventFormat,
    at_ns: i64,
) -> Result<(), BsonError> {
    match format.layout {
        Layout::Debezium3 => debezium_3::write_value(out, change, format, at_ns),
        Layout::Debezium21 => debezium_21::write_value(out, change, format, at_ns),
        Layout::Native => native::write_value(out, change, format),
    }
}
