//! The envelope of Debezium 2.1: `rs` in the source, milliseconds only, and two members of the
//! oplog's time, which are null.

use super::Setting;
use super::envelope::{
    write_images, write_integer, write_source_place, write_source_start, write_update,
};
use crate::change::Change;
use crate::error::BsonError;
use crate::json;
use crate::transaction::write_part;

pub(super) fn write_value(
    out: &mut Vec<u8>,
    change: &Change<'_>,
    setting: &Setting<'_>,
) -> Result<(), BsonError> {
    let (format, at_ns) = (setting.format, setting.at_ns);
    out.push(b'{');
    write_images(out, change, format)?;
    out.extend_from_slice(br#","patch":null,"filter":null,"#);
    write_update(out, change, format)?;
    out.push(b',');
    write_source_start(out, change, format);
    out.extend_from_slice(br#","rs":"#);
    json::write_text(out, format.replica_set.as_bytes());
    out.push(b',');
    write_source_place(out, change)?;
    out.extend_from_slice(br#"},"op":""#);
    out.extend_from_slice(change.operation.letter().as_bytes());
    out.extend_from_slice(br#"","ts_ms":"#);
    write_integer(out, at_ns.div_euclid(1_000_000));
    out.push(b',');
    write_part(out, setting.part);
    out.push(b'}');
    Ok(())
}
