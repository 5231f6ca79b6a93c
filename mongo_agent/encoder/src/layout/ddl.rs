//! Writes values of DDL events: `drop`, `rename`, `create`, …

use super::{ValueContext, write_source};
use crate::change::DdlEvent;
use crate::error::Result;
use crate::format::Layout;
use crate::json::{Flavour, write_document};
use crate::value_writer::ValueWriter;

/// `{"source":{…},"operation":…,"event":{…},"ts_ms":…}`; in the native layout only the event. With
/// a schema, the event is a string.
pub(crate) fn write_value(
    writer: &mut dyn ValueWriter,
    event: &DdlEvent<'_>,
    context: &ValueContext<'_>,
) -> Result<()> {
    let format = context.format;
    if format.layout == Layout::Native {
        let flavour = format.document_json.of_documents();
        return writer.nested(&mut |out| write_document(out, event.raw, flavour));
    }
    writer.literal(b"{");
    write_source(writer, &event.source, format)?;
    writer.literal(br#","operation":"#);
    writer.text(event.operation);
    writer.literal(br#","event":"#);
    writer.nested(&mut |out| write_document(out, event.raw, Flavour::Relaxed))?;
    writer.literal(br#","ts_ms":"#);
    writer.number(context.at_ns.div_euclid(1_000_000));
    writer.literal(b"}");
    Ok(())
}
