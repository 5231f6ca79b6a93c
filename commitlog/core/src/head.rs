//! The head of a payload, up to the first table id (`Mutation.MutationSerializer`, format notes
//! §4.1).
//!
//! ```text
//! version 6, 7, 8     updates: uvint | table id …
//! version 9   flags: 1 byte | updates: uvint | table id …
//! ```
//!
//! An unknown flag may change the layout of the following bytes, so such a record is rejected.

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::schema::TableId;

/// "Potential transaction conflicts are allowed": it does not change the layout.
const KNOWN_FLAGS: u8 = 0x01;
/// Length of the shortest partition update: table id, key length, flags.
const SHORTEST_UPDATE: u64 = 18;

/// The start of a payload, sufficient to skip unpublished tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub updates: u64,
    pub first_table: TableId,
}

impl Head {
    /// Reads the head; returns it and a cursor at the first table id.
    #[inline]
    pub(crate) fn read(payload: &[u8], version: Version) -> Result<(Self, Cursor<'_>)> {
        let mut cursor = Cursor::new(payload);
        if version.has_mutation_flags() {
            let flags = cursor.u8()?;
            if flags & !KNOWN_FLAGS != 0 {
                return Err(DecodeError::out_of_range("flags of a mutation", flags));
            }
        }
        let updates = cursor.uvint()?;
        if updates == 0 || updates.saturating_mul(SHORTEST_UPDATE) > cursor.rest().len() as u64 {
            return Err(DecodeError::out_of_range(
                "number of partition updates",
                updates,
            ));
        }
        let updates_at = cursor;
        let first_table = TableId(*cursor.uuid()?);
        let head = Self {
            updates,
            first_table,
        };
        Ok((head, updates_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 16] = [
        0x5a, 0x1c, 0x39, 0x5e, 0xb4, 0x1f, 0x11, 0xe5, 0x9f, 0x22, 0xba, 0x0b, 0xe0, 0x48, 0x3c,
        0x18,
    ];

    fn read(version: Version, start: &[u8]) -> Result<Head> {
        let payload = [start, &ID, &[0; 40]].concat();
        Head::read(&payload, version).map(|(head, cursor)| {
            assert_eq!(cursor.rest().get(..16), Some(&head.first_table.0[..]));
            head
        })
    }

    #[test]
    fn version_9_has_flags() {
        let head = Head {
            updates: 2,
            first_table: TableId(ID),
        };
        assert_eq!(read(Version::V8, &[2]), Ok(head));
        assert_eq!(read(Version::V9, &[0, 2]), Ok(head));
        assert_eq!(read(Version::V9, &[1, 2]), Ok(head));
    }

    #[test]
    fn unknown_flag_is_rejected_by_name() {
        for flags in [0x02, 0x80, 0xfe] {
            assert_eq!(
                read(Version::V9, &[flags, 1]),
                Err(DecodeError::out_of_range("flags of a mutation", flags))
            );
        }
    }

    #[test]
    fn impossible_number_of_updates_is_rejected() {
        for (version, start) in [
            (Version::V7, &[0][..]),
            (Version::V7, &[60]),
            (Version::V9, &[0, 0]),
            (Version::V9, &[0, 60]),
        ] {
            let error = read(version, start).unwrap_err();
            assert!(matches!(*error, DecodeError::OutOfRange { .. }));
        }
    }
}
