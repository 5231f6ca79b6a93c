//! Table ids, in payloads and in schemas.

/// Table id: the 16 bytes of the UUID, most significant first (format notes §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub [u8; 16]);

impl TableId {
    /// Length of an id in bytes.
    pub const LENGTH: usize = 16;

    /// The first half of the ids that 6.0 derives from the epoch before CREATE TABLE
    /// (`TableId#MAGIC`).
    const FROM_EPOCH: [u8; 8] = [0x1b, 0x25, 0x5f, 0x4d, 0xef, 0x25, 0x40, 0xa6];

    /// Parses the usual text form, with or without its four hyphens.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0_u8; 16];
        let mut digits = text.chars().filter(|c| *c != '-');
        for byte in &mut bytes {
            let high = digits.next()?.to_digit(16)?;
            let low = digits.next()?.to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        digits.next().is_none().then_some(Self(bytes))
    }

    /// Parses the hexadecimal digits after `tid:`, the form in which DESCRIBE in 6.0 prints ids of
    /// compact tables.
    pub fn parse_short(digits: &str) -> Option<Self> {
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        Some(Self::from_epoch(number))
    }

    /// Returns the id of a table that 6.0 created after this epoch.
    pub(crate) fn from_epoch(epoch: u64) -> Self {
        let mut bytes = [0_u8; 16];
        let (start, end) = bytes.split_at_mut(8);
        start.copy_from_slice(&Self::FROM_EPOCH);
        end.copy_from_slice(&epoch.to_be_bytes());
        Self(bytes)
    }

    /// Whether the id is derived from a name, as the ids of system tables are
    /// (`TableId#unsafeDeterministic`): a version 3 UUID. User tables have time UUIDs or, since
    /// 6.0, ids derived from an epoch.
    pub fn is_name_based(self) -> bool {
        self.uuid_version() == Some(3)
    }

    /// Whether the id is a time UUID, which nodes before 6.0 assign to tables.
    pub fn is_time_based(self) -> bool {
        self.uuid_version() == Some(1)
    }

    /// Returns the version of an RFC 4122 UUID; `None` for other bytes.
    fn uuid_version(self) -> Option<u8> {
        let [.., version, _, variant, _, _, _, _, _, _, _] = self.0;
        (variant >> 6 == 0b10).then_some(version >> 4)
    }
}

impl std::fmt::Display for TableId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}
