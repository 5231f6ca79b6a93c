//! Writes the values of messages in each layout.

pub(crate) mod ddl;
mod debezium;
mod debezium_1;
pub(crate) mod envelope;
mod native;
mod source;

use crate::change::{Change, Source};
use crate::error::Result;
use crate::format::{EventFormat, Layout};
use crate::transaction::TransactionOrder;
use crate::value_writer::ValueWriter;

/// The inputs of a value other than the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueContext<'s> {
    pub format: &'s EventFormat,
    /// Time of publication in nanoseconds.
    pub at_ns: i64,
    /// Id of the transaction, and the event's sequence numbers in it.
    pub order: Option<(&'s str, TransactionOrder)>,
}

/// Appends the value of a change.
pub(crate) fn write_value<F: ValueWriter>(
    writer: &mut F,
    change: &Change<'_>,
    context: &ValueContext<'_>,
) -> Result<()> {
    match context.format.layout {
        Layout::Debezium3 => debezium::write_value::<F, true>(writer, change, context),
        Layout::Debezium1 => debezium_1::write_value(writer, change, context),
        Layout::Debezium21 => debezium::write_value::<F, false>(writer, change, context),
        Layout::Native => native::write_value(writer, change, context.format),
    }
}

/// Writes `"source":{…}`; the native layout uses the `source` of Debezium 3.
fn write_source<F: ValueWriter + ?Sized>(
    writer: &mut F,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<()> {
    match format.layout {
        Layout::Debezium1 => debezium_1::write_source(writer, source, format),
        Layout::Debezium21 => debezium::write_source::<F, false>(writer, source, format),
        Layout::Debezium3 | Layout::Native => {
            debezium::write_source::<F, true>(writer, source, format)
        }
    }
}
