//! The envelope of Debezium 3: no `rs`, but `wallTime`, microseconds and nanoseconds.

use super::Setting;
use super::envelope::{
    write_images, write_integer, write_source_place, write_source_start, write_update,
};
use crate::change::Change;
use crate::error::BsonError;
use crate::transaction::write_part;

pub(super) fn write_value(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let (format, at_ns) = (setting.format, setting.at_ns);
    out.push(b'{');
    write_images(out, change, format)?;
    out.push(b',');
    write_update(out, change, format)?;
    out.push(b',');
    write_source_start(out, change, format);
    let source_us = change.source_ms.saturating_mul(1000);
    out.extend_from_slice(br#","ts_us":"#);
    write_integer(out, source_us);
    out.extend_from_slice(br#","ts_ns":"#);
    match source_us.checked_mul(1000) {
        Some(source_ns) => write_integer(out, source_ns),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b',');
    write_source_place(out, change)?;
    out.extend_from_slice(br#","wallTime":"#);
    match change.wall_time_ms {
        Some(millis) => write_integer(out, millis),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#"},"op":""#);
    out.extend_from_slice(change.operation.letter().as_bytes());
    out.extend_from_slice(br#"","ts_ms":"#);
    write_integer(out, at_ns.div_euclid(1_000_000));
    out.extend_from_slice(br#","ts_us":"#);
    write_integer(out, at_ns.div_euclid(1000));
    out.extend_from_slice(br#","ts_ns":"#);
    write_integer(out, at_ns);
    out.push(b',');
    write_part(out, setting.part);
    out.push(b'}');
    Ok(())
}
