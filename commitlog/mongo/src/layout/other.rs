//! Events of no document: `drop`, `rename`, `create`, …

use super::source::Source;
use super::{Setting, write_source};
use crate::change::OtherEvent;
use crate::error::BsonError;
use crate::format::Layout;
use crate::json::{Flavour, Spacing, write_document, write_text};

use super::envelope::write_integer;

/// `{"id":"database.collection"}`, or of what there is.
pub(crate) fn write_key(out: &mut Vec<u8>, subject: &str) {
    out.extend_from_slice(br#"{"id":"#);
    write_text(out, subject.as_bytes());
    out.push(b'}');
}

/// `{"source":{…},"operation":…,"event":{…},"ts_ms":…}`; in the native layout the event alone.
pub(crate) fn write_value(
    out: &mut Vec<u8>,
    event: &OtherEvent<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let format = setting.format;
    if format.layout == Layout::Native {
        let (flavour, spacing) = format.document_json.of_documents();
        return write_document(out, event.raw, flavour, spacing);
    }
    out.push(b'{');
    write_source(out, &Source::from(event), format)?;
    out.extend_from_slice(br#","operation":"#);
    write_text(out, event.operation);
    out.extend_from_slice(br#","event":"#);
    write_document(out, event.raw, Flavour::Relaxed, Spacing::Compact)?;
    out.extend_from_slice(br#","ts_ms":"#);
    write_integer(out, setting.at_ns.div_euclid(1_000_000));
    out.push(b'}');
    Ok(())
}
