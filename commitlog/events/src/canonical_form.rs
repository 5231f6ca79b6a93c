//! Parts of an event's canonical form, whose hash is the event id
//! (`docs/reference/event-format.md`, "Event id").

#![allow(
    clippy::inline_always,
    reason = "a call would move the writer from registers to memory"
)]

use commitlog_core::schema::Table;

use crate::event_writer::EventWriter;

/// Version of the canonical form.
const VERSION: u8 = 1;

/// Returns the start of the canonical form, which all events of a table share.
pub(crate) fn canonical_start(table: &Table) -> Vec<u8> {
    [&[VERSION][..], &table.id.0].concat()
}

/// Encodes a column name for the canonical form.
pub(crate) fn canonical_name(name: &[u8]) -> Vec<u8> {
    const MOST_COUNT: usize = 10;
    let mut canonical = vec![0; name.len() + MOST_COUNT];
    let mut form = EventWriter::new(&mut canonical);
    write_bytes(&mut form, name);
    let room = form.room();
    canonical.truncate(canonical.len().saturating_sub(room));
    canonical
}

/// Writes the number of bytes, then the bytes.
#[inline(always)]
pub(crate) fn write_bytes(form: &mut EventWriter<'_>, bytes: &[u8]) {
    write_count(form, bytes.len());
    form.slice(bytes);
}

/// Writes LEB128: seven bits per byte, lowest first, with the high bit set in all but the last.
#[inline(always)]
pub(crate) fn write_count(form: &mut EventWriter<'_>, mut count: usize) {
    while count >= 0x80 {
        form.literal(&[count as u8 | 0x80]);
        count >>= 7;
    }
    form.literal(&[count as u8]);
}
