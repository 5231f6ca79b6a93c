//! Entries of a journal segment (`journal/EntrySerializer`, `journal/ActiveSegment`).
//!
//! ```text
//! | end offset: 4 | key: 25 | CRC of both: 4 | record | CRC of all three: 4 |
//! key   command store: 4 | type: 1 | transaction id: 20
//! ```
//!
//! A segment is a memory-mapped file of a fixed size. The node first sets the end offset of an
//! entry, then writes the entry, so the last entries of the active segment may be incomplete.

use super::txn_id::TxnId;
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};

/// Bytes before a record.
const HEADER: usize = 33;
const CRC: usize = 4;
const TXN_ID: usize = 20;
/// The bytes that `utils/Crc` feeds into each checksum first.
const CRC_SEED: [u8; 4] = [0xfa, 0x2d, 0x55, 0xca];
/// `JournalKey.Type.COMMAND_DIFF`.
const COMMAND_DIFF: u8 = 0;

/// The command that an entry changes: a transaction in one of the node's command stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId {
    pub txn_id: TxnId,
    pub store: u32,
}

impl CommandId {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.store.to_be_bytes());
        out.extend_from_slice(&self.txn_id.bits());
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let store = cursor.u32()?;
        let bits = cursor.bytes(TXN_ID)?;
        let txn_id = TxnId::of_bits(bits).ok_or(DecodeError::Truncated {
            wanted: TXN_ID,
            left: bits.len(),
        })?;
        Ok(Self { txn_id, store })
    }
}

/// The state of the next entry in a segment.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'b> {
    /// A complete entry with valid checksums.
    Entry {
        /// `None` for entries that do not change a command.
        command: Option<CommandId>,
        record: &'b [u8],
        /// Offset of the next entry in the segment.
        end: usize,
    },
    /// The entry extends past the given bytes; it ends at this offset in the segment.
    NeedsBytes { end: usize },
    /// Nothing is allocated here yet.
    Unwritten,
    /// The entry is allocated up to `end`, but partly written or damaged.
    Incomplete { end: usize },
}

/// Inspects the entry at the start of `bytes`, which start at `offset` in the segment.
pub fn inspect(bytes: &[u8], offset: usize) -> Found<'_> {
    let Some((end_bytes, _)) = bytes.split_first_chunk::<4>() else {
        return Found::NeedsBytes {
            end: offset + HEADER,
        };
    };
    let end = u32::from_be_bytes(*end_bytes) as usize;
    if end == 0 {
        return Found::Unwritten;
    }
    let Some(length) = end.checked_sub(offset).filter(|l| *l >= HEADER + CRC) else {
        return Found::Unwritten;
    };
    let Some(entry) = bytes.get(..length) else {
        return Found::NeedsBytes { end };
    };
    whole(entry, end).unwrap_or(Found::Incomplete { end })
}

fn whole(entry: &[u8], end: usize) -> Option<Found<'_>> {
    let (header, rest) = entry.split_at_checked(HEADER)?;
    let (head, header_crc) = header.split_last_chunk::<CRC>()?;
    let (record, record_crc) = rest.split_last_chunk::<CRC>()?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&CRC_SEED);
    crc.update(head);
    if stored(&crc) != *header_crc {
        return None;
    }
    crc.update(record);
    if stored(&crc) != *record_crc {
        return None;
    }
    let (store, key) = head.get(4..)?.split_first_chunk::<4>()?;
    let (kind, id) = key.split_first()?;
    let command = (*kind == COMMAND_DIFF).then_some(CommandId {
        txn_id: TxnId::of_bits(id)?,
        store: u32::from_be_bytes(*store),
    });
    Some(Found::Entry {
        command,
        record,
        end,
    })
}

/// Returns a checksum in its stored form, in which 1 replaces 0.
fn stored(crc: &crc32fast::Hasher) -> [u8; CRC] {
    crc.clone().finalize().max(1).to_be_bytes()
}
