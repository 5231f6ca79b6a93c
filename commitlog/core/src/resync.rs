//! Searches for the next update after an update of an unknown table (format notes §4.13).
//!
//! An update does not store its length, so the end of an unreadable update must be found. The next
//! update starts with the id of a known table of the same keyspace, after the last byte of an
//! update and before the mutation's key. A match counts only if the updates from there reach the
//! exact end of the payload and are not more than expected. No other match may explain the same
//! bytes differently. Data that looks like an update does not count, because the update around it
//! ends later. Only data that looks like the start of an update, and is completed by the bytes
//! after it, is ambiguous; then no match counts.

use std::sync::Arc;

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::mutation::{Decoder, ResumePoint};
use crate::schema::{Table, TableId};
use crate::unfiltered::row_flag;

/// Maximum number of attempts for one mutation; more are not worth the time.
const MOST_ATTEMPTS: usize = 256;

/// The last byte of each update; an empty update ends with a flag of the same value.
const LAST_BYTE: u8 = row_flag::END_OF_PARTITION;

/// Length of the longest vint.
const LONGEST_UVINT: usize = 9;

/// A mutation with updates of unknown tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resync {
    /// The first unknown table.
    pub unknown: TableId,
    /// Number of updates before it, all of known tables.
    pub before: u64,
    /// The point after which all updates are of known tables again; `None` if there is none, or if
    /// it is ambiguous.
    pub resume_point: Option<ResumePoint>,
}

/// The known parts of the mutation, which limit the search.
struct Known<'p> {
    payload: &'p [u8],
    version: Version,
    updates: u64,
    tables: Vec<Arc<Table>>,
    unknown: TableId,
    /// The partition key.
    key: &'p [u8],
    /// The partition key with its length prefix.
    key_on_wire: &'p [u8],
}

/// Searches after the first update of an unknown table. Returns `None` if there is none, or if its
/// bytes are not an update: then the earlier updates cannot be trusted either.
pub fn resynchronise(decoder: &mut Decoder, payload: &[u8], version: Version) -> Option<Resync> {
    let mut tables = Vec::new();
    let mut key = None;
    let mut mutation = decoder.mutation(payload, version).ok()?;
    let updates = mutation.updates();
    let unknown = loop {
        match mutation.next_update() {
            Ok(Some(update)) if *key.get_or_insert(update.key) == update.key => {
                tables.push(Arc::clone(mutation.table()?));
            }
            Err(error) => match *error {
                DecodeError::UnknownTable(id) => break id,
                _ => return None,
            },
            Ok(_) => return None,
        }
    };
    // The reader is still before the update that it could not read.
    let mut cursor = Cursor::new(mutation.rest());
    cursor.bytes(TableId::LENGTH).ok()?;
    if version.has_table_epochs() {
        cursor.uvint().ok()?;
    }
    let start = cursor;
    let own_key = cursor.vbytes().ok()?;
    let key_on_wire = cursor.bytes_since(&start);
    if key.is_some_and(|key| key != own_key) {
        return None;
    }
    let known = Known {
        payload,
        version,
        updates,
        unknown,
        key: own_key,
        key_on_wire,
        tables,
    };
    Some(Resync {
        unknown,
        before: known.tables.len() as u64,
        resume_point: known.find_resume_point(decoder, payload.len() - cursor.rest().len()),
    })
}

impl Known<'_> {
    fn find_resume_point(&self, decoder: &mut Decoder, start: usize) -> Option<ResumePoint> {
        let left = self.updates - self.tables.len() as u64 - 1;
        let mut attempts = 0;
        let mut first: Option<(ResumePoint, Vec<usize>)> = None;
        for offset in self.candidates(decoder, start) {
            for count in 1..=left {
                attempts += 1;
                if attempts > MOST_ATTEMPTS {
                    return None;
                }
                let place = ResumePoint {
                    offset,
                    index: self.updates - count,
                };
                let Ok(Some(offsets)) = self.read_to_end(decoder, place) else {
                    continue;
                };
                match &first {
                    None => first = Some((place, offsets)),
                    Some((_, explained)) if explained.contains(&offset) => {}
                    Some(_) => return None,
                }
            }
        }
        first.map(|(place, _)| place)
    }

    /// Returns offsets of known table ids between an update and the key, or an epoch and the key.
    fn candidates(&self, decoder: &Decoder, start: usize) -> Vec<usize> {
        let bytes = self.payload.get(start..).unwrap_or_default();
        let windows = bytes.windows(self.key_on_wire.len()).enumerate();
        let keys = windows.filter(|(_, window)| *window == self.key_on_wire);
        let epochs = if self.version.has_table_epochs() {
            1..=LONGEST_UVINT
        } else {
            0..=0
        };
        let mut offsets = Vec::new();
        for (place, _) in keys {
            for epoch in epochs.clone() {
                let Some(before) = place.checked_sub(TableId::LENGTH + epoch) else {
                    continue;
                };
                let last = before.checked_sub(1).and_then(|last| bytes.get(last));
                if last != Some(&LAST_BYTE) {
                    continue;
                }
                let mut cursor = Cursor::new(bytes.get(before..place).unwrap_or_default());
                let Ok(id) = cursor.uuid().map(|id| TableId(*id)) else {
                    continue;
                };
                let has_epoch = epoch == 0 || cursor.uvint().is_ok() && cursor.rest().is_empty();
                let table = decoder.schema().table(id).filter(|_| has_epoch);
                if table.is_some_and(|table| self.may_follow(table)) {
                    offsets.push(start + before);
                }
            }
        }
        offsets
    }

    /// Whether the mutation may also contain an update of this table: it must be in the same
    /// keyspace and have no update yet.
    fn may_follow(&self, table: &Table) -> bool {
        table.id != self.unknown
            && (self.tables.iter())
                .all(|known| known.id != table.id && known.keyspace == table.keyspace)
    }

    /// Reads the updates from `place` to the exact end of the payload and returns their offsets, or
    /// `None` if they cannot belong to the mutation.
    fn read_to_end(&self, decoder: &mut Decoder, place: ResumePoint) -> Result<Option<Vec<usize>>> {
        let mut mutation = decoder.mutation_from(self.payload, self.version, place)?;
        let mut offsets = Vec::new();
        let mut tables: Vec<Arc<Table>> = Vec::new();
        loop {
            mutation.finish_update()?;
            let offset = self.payload.len() - mutation.rest().len();
            let Some(update) = mutation.next_update()? else {
                return Ok(Some(offsets));
            };
            let Some(table) = mutation.table() else {
                return Ok(None);
            };
            let is_second = tables.iter().any(|known| known.id == table.id);
            let is_elsewhere = tables
                .first()
                .is_some_and(|known| known.keyspace != table.keyspace);
            let is_other_key = update.key != self.key;
            if is_second || is_elsewhere || is_other_key || !self.may_follow(table) {
                return Ok(None);
            }
            tables.push(Arc::clone(table));
            offsets.push(offset);
        }
    }
}
