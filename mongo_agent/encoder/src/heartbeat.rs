//! Writes heartbeats, which show that an idle agent is alive.

use crate::value_writer::ValueWriter;

/// `{"serverName":…}`
pub(crate) fn write_key(writer: &mut dyn ValueWriter, server_name: &str) {
    writer.literal(br#"{"serverName":"#);
    writer.text(server_name.as_bytes());
    writer.literal(b"}");
}

/// `{"ts_ms":…}`
pub(crate) fn write_value(writer: &mut dyn ValueWriter, ts_ms: i64) {
    writer.literal(br#"{"ts_ms":"#);
    writer.number(ts_ms);
    writer.literal(b"}");
}
