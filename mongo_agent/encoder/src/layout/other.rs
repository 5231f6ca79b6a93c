//! Events of no document: `drop`, `rename`, `create`, …

use super::source::Source;
use super::{Setting, write_source};
use crate::change::OtherEvent;
use crate::error::BsonError;
use crate::form::Form;
use crate::format::Layout;
use crate::json::{Flavour, Spacing, write_document};

/// `{"id":"database.collection"}`, or of what there is.
pub(crate) fn write_key(form: &mut dyn Form, subject: &str) {
    form.literal(br#"{"id":"#);
    form.text(subject.as_bytes());
    form.literal(b"}");
}

/// `{"source":{…},"operation":…,"event":{…},"ts_ms":…}`; in the native layout the event alone. To a
/// schema the event is text.
pub(crate) fn write_value(
    form: &mut dyn Form,
    event: &OtherEvent<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let format = setting.format;
    if format.layout == Layout::Native {
        let (flavour, spacing) = format.document_json.of_documents();
        return form.nested(&mut |out| write_document(out, event.raw, flavour, spacing));
    }
    form.literal(b"{");
    write_source(form, &Source::from(event), format)?;
    form.literal(br#","operation":"#);
    form.text(event.operation);
    form.literal(br#","event":"#);
    form.nested(&mut |out| write_document(out, event.raw, Flavour::Relaxed, Spacing::Compact))?;
    form.literal(br#","ts_ms":"#);
    form.number(setting.at_ns.div_euclid(1_000_000));
    form.literal(b"}");
    Ok(())
}
