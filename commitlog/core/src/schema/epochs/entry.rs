//! An entry of the metadata log (`system.local_metadata_log`): one transformation of the cluster
//! metadata and its epoch.
//!
//! ```text
//! transformation   version: uvint | fields of its kind            (VerboseMetadataSerializer)
//! schema change    has keyspace: 1 byte | [keyspace: text] | CQL: text
//!                  | from version 5 on: execution time: zigzag vint (AlterSchema.Serializer)
//! text             bytes: 2 bytes | modified UTF-8                 (DataOutput#writeUTF)
//! ```

use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};

/// `Transformation.Kind.SCHEMA_CHANGE`.
const SCHEMA_CHANGE: i32 = 4;
/// The first version with an execution time; 6.0-alpha2 writes version 9.
const WITH_EXECUTION_TIME: u64 = 5;

/// One entry of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataLogEntry {
    /// The epoch that the entry begins; consecutive entries have consecutive epochs.
    pub epoch: i64,
    pub content: EntryContent,
}

/// The transformation of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryContent {
    /// A schema change.
    Schema(SchemaStatement),
    /// Any other transformation, such as a node that joins or leaves, with the number of its kind.
    Other { kind: i32 },
    /// Bytes that violate the format, with the reason.
    Unreadable { reason: String },
}

/// The statement of a schema change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStatement {
    /// The keyspace that the statement changes, or the session's keyspace. It applies to names
    /// without a keyspace.
    pub keyspace: Option<String>,
    /// The client's text; CREATE KEYSPACE and CREATE TABLE statements contain every option.
    pub cql: String,
}

impl MetadataLogEntry {
    /// Reads the columns of a row: the partition key `epoch`, `kind` and `transformation`. It
    /// accepts later versions of the transformation that use the same format.
    pub fn parse(epoch: i64, kind: i32, transformation: &[u8]) -> Self {
        let content = if kind == SCHEMA_CHANGE {
            match SchemaStatement::parse(transformation) {
                Ok(statement) => EntryContent::Schema(statement),
                Err(error) => EntryContent::Unreadable {
                    reason: error.to_string(),
                },
            }
        } else {
            EntryContent::Other { kind }
        };
        Self { epoch, content }
    }

    /// Returns the statement if the entry is a schema change.
    pub fn statement(&self) -> Option<&SchemaStatement> {
        match &self.content {
            EntryContent::Schema(statement) => Some(statement),
            _ => None,
        }
    }
}

impl SchemaStatement {
    fn parse(transformation: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(transformation);
        let version = cursor.uvint()?;
        let keyspace = match cursor.u8()? {
            0 => None,
            _ => Some(text(&mut cursor)?),
        };
        let cql = text(&mut cursor)?;
        if version >= WITH_EXECUTION_TIME {
            cursor.uvint()?;
        }
        match cursor.rest().len() {
            0 => Ok(Self { keyspace, cql }),
            left => Err(DecodeError::out_of_range(
                "bytes after a schema change",
                left as u64,
            )),
        }
    }
}

/// Reads modified UTF-8: one to three bytes for each UTF-16 unit, and two for NUL.
fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let length = cursor.u16()?;
    let mut bytes = Cursor::new(cursor.bytes(usize::from(length))?);
    let mut units = Vec::with_capacity(usize::from(length));
    let continued = |bytes: &mut Cursor<'_>| match bytes.u8()? {
        byte if byte & 0xc0 == 0x80 => Ok(u16::from(byte & 0x3f)),
        byte => Err(DecodeError::out_of_range("byte of a text", byte)),
    };
    while !bytes.rest().is_empty() {
        let first = bytes.u8()?;
        let unit = match first {
            0..=0x7f => u16::from(first),
            0xc0..=0xdf => u16::from(first & 0x1f) << 6 | continued(&mut bytes)?,
            0xe0..=0xef => {
                let middle = continued(&mut bytes)?;
                u16::from(first & 0x0f) << 12 | middle << 6 | continued(&mut bytes)?
            }
            _ => return Err(DecodeError::out_of_range("byte of a text", first)),
        };
        units.push(unit);
    }
    String::from_utf16(&units)
        .map_err(|_| DecodeError::out_of_range("UTF-16 surrogate of a text", u64::from(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(version: u8, keyspace: Option<&str>, cql: &[u8]) -> Vec<u8> {
        let text = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
        let keyspace = keyspace.map_or(vec![0], |name| [vec![1], text(name.as_bytes())].concat());
        let time: &[u8] = if version >= 5 { &[1] } else { &[] };
        [&[version], &keyspace[..], &text(cql), time].concat()
    }

    #[test]
    fn schema_changes_of_every_version_are_parsed() {
        for version in 0..=10 {
            let bytes = write(version, Some("k"), b"ALTER TABLE t ADD x int");
            let entry = MetadataLogEntry::parse(12, 4, &bytes);
            let statement = entry.statement().unwrap();
            assert_eq!(entry.epoch, 12);
            assert_eq!(statement.keyspace.as_deref(), Some("k"));
            assert_eq!(statement.cql, "ALTER TABLE t ADD x int");
            for cut in 0..bytes.len() {
                let cut = MetadataLogEntry::parse(12, 4, &bytes[..cut]);
                assert!(matches!(cut.content, EntryContent::Unreadable { .. }));
            }
        }
    }

    #[test]
    fn texts_are_decoded_as_modified_utf_8() {
        // NUL, "é", "€" and U+1F600 as a surrogate pair.
        let cql = b"\xc0\x80\xc3\xa9\xe2\x82\xac\xed\xa0\xbd\xed\xb8\x80";
        let entry = MetadataLogEntry::parse(1, 4, &write(9, None, cql));
        let statement = entry.statement().unwrap();
        assert_eq!(statement.cql, "\0é€\u{1f600}");
        assert_eq!(statement.keyspace, None);
        for damaged in [&b"\x80"[..], b"\xc3", b"\xc3\x29", b"\xff", b"\xed\xa0\xbd"] {
            let entry = MetadataLogEntry::parse(1, 4, &write(9, None, damaged));
            assert!(matches!(entry.content, EntryContent::Unreadable { .. }));
        }
    }

    #[test]
    fn other_kinds_and_unreadable_entries_are_reported() {
        let entry = MetadataLogEntry::parse(3, 29, b"anything");
        assert_eq!(entry.content, EntryContent::Other { kind: 29 });
        let entry = MetadataLogEntry::parse(3, 4, &[&write(10, None, b"x")[..], b"y"].concat());
        assert_eq!(
            entry.content,
            EntryContent::Unreadable {
                reason: "bytes after a schema change: 1 is out of range".to_owned()
            }
        );
    }
}
