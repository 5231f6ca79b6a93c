//! Messages that say that somebody is there.

use crate::form::Form;

/// `{"serverName":…}`
pub(crate) fn write_key(form: &mut dyn Form, server_name: &str) {
    form.literal(br#"{"serverName":"#);
    form.text(server_name.as_bytes());
    form.literal(b"}");
}

/// `{"ts_ms":…}`
pub(crate) fn write_value(form: &mut dyn Form, ts_ms: i64) {
    form.literal(br#"{"ts_ms":"#);
    form.number(ts_ms);
    form.literal(b"}");
}
