//! Parts of the canonical form of an event, of which the event id is a hash
//! (`docs/reference/event-format.md`, "Event id").

#![allow(
    clippy::inline_always,
    reason = "a call would put the writer into memory"
)]

use commitlog_core::schema::Table;

use crate::event_writer::EventWriter;

/// Version of the canonical form.
const VERSION: u8 = 1;

/// The start of the canonical form of all events of a table.
pub(crate) fn canonical_start(table: &Table) -> Vec<u8> {
    [&[VERSION][..], &table.id.0].concat()
}

/// A column's name in the canonical form.
pub(crate) fn canonical_name(name: &[u8]) -> Vec<u8> {
    const MOST_COUNT: usize = 10;
    let mut canonical = vec![0; name.len() + MOST_COUNT];
    let mut form = EventWriter::new(&mut canonical);
    write_bytes(&mut form, name);
    let room = form.room();
    canonical.truncate(canonical.len().saturating_sub(room));
    canonical
}

/// Bytes after their number.
#[inline(always)]
pub(crate) fn write_bytes(form: &mut EventWriter<'_>, bytes: &[u8]) {
    write_count(form, bytes.len());
    form.slice(bytes);
}

/// Seven bits a byte, the lowest first, the high bit set in all but the last (LEB128).
#[inline(always)]
pub(crate) fn write_count(form: &mut EventWriter<'_>, mut count: usize) {
    while count >= 0x80 {
        form.literal(&[count as u8 | 0x80]);
        count >>= 7;
    }
    form.literal(&[count as u8]);
}
