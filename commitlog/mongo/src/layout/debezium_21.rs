//! The envelope of Debezium 2.1: `rs` in the source, milliseconds only, and two members of the
//! oplog's time, which are null.

use super::Setting;
use super::envelope::{write_images, write_integer, write_update};
use super::source::{Source, write_place, write_session, write_start};
use crate::change::Change;
use crate::error::BsonError;
use crate::format::EventFormat;
use crate::json;
use crate::transaction::write_part;

pub(super) fn write_value(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let format = setting.format;
    out.push(b'{');
    write_images(out, change, format)?;
    out.extend_from_slice(br#","patch":null,"filter":null,"#);
    write_update(out, change, format)?;
    out.push(b',');
    write_source(out, &Source::from(change), format)?;
    out.extend_from_slice(br#","op":""#);
    out.extend_from_slice(change.operation.letter().as_bytes());
    out.extend_from_slice(br#"","ts_ms":"#);
    write_integer(out, setting.at_ns.div_euclid(1_000_000));
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
    out.extend_from_slice(br#","rs":"#);
    json::write_text(out, format.replica_set.as_bytes());
    out.push(b',');
    write_place(out, source);
    write_session(out, source)?;
    out.push(b'}');
    Ok(())
}
