//! The envelope of Debezium 3: no `rs`, but `wallTime`, microseconds and nanoseconds.

use super::Setting;
use super::envelope::{write_images, write_integer, write_update};
use super::source::{Source, write_place, write_session, write_start};
use crate::change::Change;
use crate::error::BsonError;
use crate::format::EventFormat;
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
    write_source(out, &Source::from(change), format)?;
    out.extend_from_slice(br#","op":""#);
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

pub(super) fn write_source(
    out: &mut Vec<u8>,
    source: &Source<'_>,
    format: &EventFormat,
) -> Result<(), BsonError> {
    write_start(out, source, format);
    let source_us = source.ts_ms.saturating_mul(1000);
    out.extend_from_slice(br#","ts_us":"#);
    write_integer(out, source_us);
    out.extend_from_slice(br#","ts_ns":"#);
    match source_us.checked_mul(1000) {
        Some(source_ns) => write_integer(out, source_ns),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b',');
    write_place(out, source);
    write_session(out, source)?;
    out.extend_from_slice(br#","wallTime":"#);
    match source.wall_time_ms {
        Some(millis) => write_integer(out, millis),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
    Ok(())
}
