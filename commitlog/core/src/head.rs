//! The head of a payload, before the first table id (`Mutation.MutationSerializer`,
//! format notes §4.1).
//!
//! ```text
//! version 6, 7, 8     updates: uvint | table id …
//! version 9   flags: 1 byte | updates: uvint | table id …      from the Accord merge on
//!                             updates: uvint | table id …      earlier development builds
//! ```
//!
//! Nothing in a segment marks which of the two forms of version 9 it has. The form is decided for
//! each record by itself, so that a record reads the same wherever reading began and nothing has
//! to be remembered between two openings of a segment:
//!
//! * A first byte of 0 is a flags byte: no mutation has 0 updates. It costs one comparison and is
//!   what nearly every record of a released node has.
//! * Otherwise both forms are tried up to the first table id. The wrong one looks at an id that is
//!   shifted by a byte and at an odd number of updates. An id that the schema has decides, then
//!   one of a kind that Cassandra makes, then the released form.
//!
//! A flag without a known meaning may change what follows, so such a record is rejected by that
//! name, not guessed at.

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::schema::{Schema, TableId};

/// "Potential transaction conflicts are allowed": it does not change what follows.
const KNOWN_FLAGS: u8 = 0x01;
/// Bytes of the shortest partition update: table id, length of the key, flags.
const SHORTEST_UPDATE: u64 = 18;

/// Enough of a payload to skip tables that are not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub updates: u64,
    pub first_table: TableId,
}

impl Head {
    /// Reads the head; the cursor is then at the first table id.
    #[inline]
    pub(crate) fn read<'p>(
        payload: &'p [u8],
        version: Version,
        schema: &Schema,
    ) -> Result<(Self, Cursor<'p>)> {
        if version < Version::V9 {
            return Self::at(Cursor::new(payload));
        }
        match payload {
            [0, rest @ ..] => Self::at(Cursor::new(rest)),
            _ => Self::of_either_form(payload, schema),
        }
    }

    /// Reads from the number of updates on.
    #[inline]
    fn at(mut cursor: Cursor<'_>) -> Result<(Self, Cursor<'_>)> {
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

    #[cold]
    fn of_either_form<'p>(payload: &'p [u8], schema: &Schema) -> Result<(Self, Cursor<'p>)> {
        let with_flags = Self::behind_flags(Cursor::new(payload));
        let without_flags = Self::at(Cursor::new(payload));
        let likelihood = |read: &Result<(Self, Cursor<'p>)>| match read {
            Ok((head, _)) => Likelihood::of(head.first_table, schema),
            Err(_) => Likelihood::Odd,
        };
        // Writers use the shortest form of a number, so this would be a flag and no number.
        let is_stretched = |(head, _): &(Self, _)| {
            head.updates < 0x80 && payload.first().is_some_and(|first| *first >= 0x80)
        };
        let is_without_flags = likelihood(&without_flags) > likelihood(&with_flags)
            && !without_flags.as_ref().is_ok_and(is_stretched);
        if is_without_flags {
            without_flags
        } else {
            with_flags
        }
    }

    fn behind_flags(mut cursor: Cursor<'_>) -> Result<(Self, Cursor<'_>)> {
        let flags = cursor.u8()?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(DecodeError::out_of_range("flags of a mutation", flags));
        }
        Self::at(cursor)
    }
}

/// How much speaks for sixteen bytes being a table id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Likelihood {
    Odd,
    MadeByCassandra,
    Known,
}

impl Likelihood {
    fn of(id: TableId, schema: &Schema) -> Self {
        if schema.table(id).is_some() {
            Self::Known
        } else if id.is_time_based() || id.is_name_based() {
            Self::MadeByCassandra
        } else {
            Self::Odd
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::parse_cql;

    const TIME_BASED: [u8; 16] = [
        0x5a, 0x1c, 0x39, 0x5e, 0xb4, 0x1f, 0x11, 0xe5, 0x9f, 0x22, 0xba, 0x0b, 0xe0, 0x48, 0x3c,
        0x18,
    ];
    const RANDOM: [u8; 16] = [
        0x01, 0x1c, 0x39, 0x5e, 0xb4, 0x1f, 0x41, 0xe5, 0x9f, 0x22, 0xba, 0x0b, 0xe0, 0x48, 0x3c,
        0x18,
    ];

    fn payload(start: &[u8], id: [u8; 16]) -> Vec<u8> {
        [start, &id, &[0; 40]].concat()
    }

    fn schema_with(id: [u8; 16]) -> Schema {
        let id = TableId(id);
        parse_cql(&format!(
            "CREATE TABLE k.t (p int PRIMARY KEY) WITH ID = {id}"
        ))
        .unwrap()
    }

    fn read(payload: &[u8], schema: &Schema) -> Result<Head> {
        Head::read(payload, Version::V9, schema).map(|(head, cursor)| {
            assert_eq!(cursor.rest().get(..16), Some(&head.first_table.0[..]));
            head
        })
    }

    #[test]
    fn both_forms_of_version_9() {
        for schema in [Schema::default(), schema_with(TIME_BASED)] {
            for start in [&[0, 1][..], &[1, 1], &[1]] {
                let head = read(&payload(start, TIME_BASED), &schema);
                assert_eq!(
                    head,
                    Ok(Head {
                        updates: 1,
                        first_table: TableId(TIME_BASED)
                    }),
                    "{start:?}"
                );
            }
        }
    }

    #[test]
    fn an_id_of_another_kind_is_found_by_the_schema() {
        let schema = schema_with(RANDOM);
        for start in [&[0, 2][..], &[1, 2], &[2]] {
            let head = read(&payload(start, RANDOM), &schema).unwrap();
            assert_eq!(head.first_table, TableId(RANDOM), "{start:?}");
            assert_eq!(head.updates, 2);
        }
        // Without it the released form is taken.
        let head = read(&payload(&[1, 1], RANDOM), &Schema::default()).unwrap();
        assert_eq!(head.first_table, TableId(RANDOM));
    }

    #[test]
    fn a_flag_without_a_meaning_is_rejected_by_name() {
        let schema = schema_with(TIME_BASED);
        for flags in [0x02, 0x80, 0xfe] {
            assert_eq!(
                read(&payload(&[flags, 1], TIME_BASED), &schema),
                Err(DecodeError::out_of_range("flags of a mutation", flags))
            );
        }
    }

    #[test]
    fn a_number_of_updates_that_cannot_be_there_is_rejected() {
        for (version, start) in [
            (Version::V7, &[0][..]),
            (Version::V7, &[60]),
            (Version::V9, &[0, 0]),
            (Version::V9, &[0, 60]),
        ] {
            let payload = payload(start, TIME_BASED);
            let head = Head::read(&payload, version, &Schema::default());
            let error = head.map(|(head, _)| head).unwrap_err();
            assert!(matches!(*error, DecodeError::OutOfRange { .. }));
        }
    }
}
