//! The file name and the header of a segment (`CommitLogDescriptor`, format notes §1).

use serde_json::{Map, Value};

use crate::error::SegmentError;

/// Bytes before the JSON part of the header.
const FIXED_LENGTH: usize = 14;
const CRC_LENGTH: usize = 4;

/// Version of the commit-log format, which determines the layout of payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Cassandra 3.0 to 3.11.
    V6 = 6,
    /// Cassandra 4.0 and 4.1, and later releases with `storage_compatibility_mode: CASSANDRA_4`.
    V7 = 7,
    /// Cassandra 5.0 with `storage_compatibility_mode` `UPGRADING` or `NONE`.
    V8 = 8,
    /// Cassandra 6.0 with a `storage_compatibility_mode` other than `CASSANDRA_4`.
    V9 = 9,
}

impl Version {
    fn from_number(number: i32) -> Option<Self> {
        let known = [Self::V6, Self::V7, Self::V8, Self::V9];
        known.into_iter().find(|known| known.number() == number)
    }

    pub fn number(self) -> i32 {
        self as i32
    }

    /// Whether local deletion times are unsigned (CASSANDRA-14227).
    pub fn has_unsigned_deletion_times(self) -> bool {
        self >= Self::V8
    }

    /// Whether a mutation starts with a flags byte.
    pub fn has_mutation_flags(self) -> bool {
        self >= Self::V9
    }

    /// Whether each partition update carries the epoch of its table (`tcm.Epoch`).
    pub fn has_table_epochs(self) -> bool {
        self >= Self::V9
    }
}

/// `CommitLog-<version>-<id>.log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentName {
    pub version: i32,
    pub id: i64,
}

impl SegmentName {
    /// Returns `None` for other names, including names without a version.
    pub fn parse(file_name: &str) -> Option<Self> {
        let (version, id) = file_name
            .strip_prefix("CommitLog-")?
            .strip_suffix(".log")?
            .split_once('-')?;
        let is_decimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_decimal(version) || !is_decimal(id) {
            return None;
        }
        Some(Self {
            version: version.parse().ok()?,
            id: id.parse().ok()?,
        })
    }
}

/// How a segment is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// A Java cipher transformation, such as `AES/CBC/PKCS5Padding`.
    pub cipher: String,
    pub key_alias: String,
    /// The initialization vector; empty if it is missing or not hexadecimal.
    pub iv: Vec<u8>,
}

/// The header of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    pub version: Version,
    pub id: i64,
    /// Class name of the compressor, as written in the header.
    pub compression_class: Option<String>,
    /// Present if the segment is encrypted.
    pub encryption: Option<Encryption>,
    /// Length of the header; the first sync marker follows it.
    pub length: u64,
}

impl Descriptor {
    /// Returns the length of the header, or `None` if `start` is too short to tell.
    pub fn header_length(start: &[u8]) -> Option<usize> {
        let json_length = start.get(12..FIXED_LENGTH)?;
        let json_length = json_length
            .iter()
            .fold(0, |length, &byte| length << 8 | usize::from(byte));
        Some(FIXED_LENGTH + json_length + CRC_LENGTH)
    }

    /// Parses the header at the start of `bytes`.
    pub fn parse(segment: &str, bytes: &[u8]) -> Result<Self, SegmentError> {
        let corrupt = |reason: String| SegmentError::Corrupt {
            segment: segment.to_owned(),
            reason,
        };
        let incomplete = || SegmentError::Incomplete {
            segment: segment.to_owned(),
            length: bytes.len() as u64,
        };
        let length = Self::header_length(bytes).ok_or_else(incomplete)?;
        let header = bytes.get(..length).ok_or_else(incomplete)?;
        let (covered, stored_crc) = header.split_at(length - CRC_LENGTH);
        let (fixed, json) = covered.split_at(FIXED_LENGTH);
        let stored_crc = be_i64(stored_crc) as u32;
        let version = be_i64(fixed.get(..4).unwrap_or_default()) as i32;
        let id = be_i64(fixed.get(4..12).unwrap_or_default());

        let mut crc = crc32fast::Hasher::new();
        crc.update(&version.to_be_bytes());
        crc.update(&(id as u32).to_be_bytes());
        crc.update(&((id >> 32) as u32).to_be_bytes());
        crc.update(&(json.len() as u32).to_be_bytes());
        crc.update(json);
        let computed = crc.finalize();
        if computed != stored_crc {
            return Err(corrupt(format!(
                "the header is damaged: its checksum is {computed:08x}, stored is {stored_crc:08x}"
            )));
        }

        let parameters: Map<String, Value> = serde_json::from_slice(json)
            .map_err(|error| corrupt(format!("the header's parameters are not JSON: {error}")))?;
        let text = |key: &str| {
            parameters
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let version = Version::from_number(version).ok_or_else(|| SegmentError::Unsupported {
            segment: segment.to_owned(),
            reason: unknown_version(version),
        })?;
        Ok(Self {
            version,
            id,
            compression_class: text("compressionClass"),
            encryption: text("encCipher")
                .zip(text("encKeyAlias"))
                .map(|(cipher, key_alias)| Encryption {
                    cipher,
                    key_alias,
                    iv: text("encIV")
                        .and_then(|iv| bytes_of_hex(&iv))
                        .unwrap_or_default(),
                }),
            length: length as u64,
        })
    }
}

pub(crate) fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push((digit(high)? << 4 | digit(low)?) as u8);
    }
    Some(bytes)
}

/// Explains which release wrote a segment of an unsupported version, and the remedy.
fn unknown_version(version: i32) -> String {
    let advice = match version {
        ..=5 => {
            "it was written by Cassandra 2.2 or earlier; upgrade the node and remove the segment \
             once the node has replayed it"
        }
        _ => "a newer Cassandra wrote it; upgrade the agent",
    };
    format!("commit-log version {version} is not supported (6 to 9 are): {advice}")
}

fn be_i64(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0, |value: i64, &byte| {
        value.wrapping_shl(8) | i64::from(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_names_are_parsed() {
        assert_eq!(
            SegmentName::parse("CommitLog-7-1699285478684.log"),
            Some(SegmentName {
                version: 7,
                id: 1_699_285_478_684
            })
        );
        for other in [
            "CommitLog-1699285478684.log",
            "CommitLog-7-1699285478684_cdc.idx",
            "CommitLog-7-+1.log",
            "CommitLog-7-.log",
            "x",
        ] {
            assert_eq!(SegmentName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn published_header_is_parsed() {
        // Version 7, id 1699285478684, no parameters.
        let bytes = [
            0, 0, 0, 7, 0, 0, 1, 0x8b, 0xa5, 0x4e, 0xad, 0x1c, 0, 2, b'{', b'}', 0x94, 0x30, 0x80,
            0xa5, 0xff,
        ];
        let descriptor = Descriptor::parse("s", &bytes).unwrap();
        assert_eq!(descriptor.version, Version::V7);
        assert_eq!(descriptor.id, 1_699_285_478_684);
        assert_eq!(descriptor.length, 20);
        assert_eq!(descriptor.compression_class, None);
        for cut in 0..20 {
            assert!(matches!(
                Descriptor::parse("s", &bytes[..cut]),
                Err(SegmentError::Incomplete { .. })
            ));
        }
        for bit in 0..20 * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Descriptor::parse("s", &flipped).is_err(), "bit {bit}");
        }
    }
}
