//! Records inside a section (`CommitLogReader#readSection`, format notes §3).
//!
//! ```text
//! | size: 4 | CRC of size: 4 | payload: size bytes | CRC of size and payload: 4 |
//! ```

/// Bytes of a record besides its payload.
pub const OVERHEAD: usize = 12;
/// Bytes before a payload.
pub(crate) const HEADER: usize = 8;
/// Cassandra rejects smaller records, because no mutation is that short.
const MIN_PAYLOAD: usize = 10;

/// One complete record with valid checksums.
#[derive(Debug, Clone, Copy)]
pub struct Record<'b> {
    /// Logical position after the record, which Cassandra calls the record's position.
    pub end: u64,
    /// A serialized mutation.
    pub payload: &'b [u8],
}

/// The result of [`inspect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'b> {
    Record(&'b [u8]),
    /// This many bytes are needed, and the section contains them.
    NeedsBytes(usize),
    SectionEnd,
    /// A size of zero: an allocation that was never written.
    Zero,
    BadSize(u32),
    BadSizeCrc(u32),
    /// The size is valid, so the next record can be found.
    BadPayloadCrc(&'b [u8]),
}

/// Reads the size from a record's first eight bytes, if its checksum is valid and a mutation can be
/// that short.
fn size(header: &[u8]) -> Option<u32> {
    let [size @ .., c0, c1, c2, c3] = header.first_chunk::<HEADER>()?;
    let number = u32::from_be_bytes(*size);
    let is_sound = number as usize >= MIN_PAYLOAD
        && crc32fast::hash(size) == u32::from_be_bytes([*c0, *c1, *c2, *c3]);
    is_sound.then_some(number)
}

/// Returns the end of the record that starts with `header` at `position`, if its size is valid and
/// the section is long enough.
pub(crate) fn end(header: &[u8], position: u64, section_end: u64) -> Option<u64> {
    let end = position + u64::from(size(header)?) + OVERHEAD as u64;
    (end <= section_end).then_some(end)
}

/// Inspects the start of `bytes`; the section still contains `left` bytes.
#[inline]
pub fn inspect(bytes: &[u8], left: u64) -> Found<'_> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return match left {
            0 => Found::SectionEnd,
            // Too short for a record; Cassandra stops at fewer than four bytes.
            1..8 if bytes.iter().all(|byte| *byte == 0) => Found::SectionEnd,
            1..8 => Found::BadSize(0),
            _ => Found::NeedsBytes(HEADER),
        };
    };
    let [s0, s1, s2, s3, c0, c1, c2, c3] = *header;
    let size_bytes = [s0, s1, s2, s3];
    let size = u32::from_be_bytes(size_bytes);
    if size == 0 {
        return Found::Zero;
    }
    let size_crc = u32::from_be_bytes([c0, c1, c2, c3]);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&size_bytes);
    if crc.clone().finalize() != size_crc {
        return Found::BadSizeCrc(size);
    }
    let length = size as usize;
    if length < MIN_PAYLOAD || u64::from(size) + OVERHEAD as u64 > left {
        return Found::BadSize(size);
    }
    let Some((payload, rest)) = rest.split_at_checked(length) else {
        return Found::NeedsBytes(length + OVERHEAD);
    };
    let Some((stored, _)) = rest.split_first_chunk::<4>() else {
        return Found::NeedsBytes(length + OVERHEAD);
    };
    crc.update(payload);
    if crc.finalize() == u32::from_be_bytes(*stored) {
        Found::Record(payload)
    } else {
        Found::BadPayloadCrc(payload)
    }
}

/// Iterates over the complete records at the start of a chunk and stops at anything else.
#[derive(Debug, Clone)]
pub struct Records<'b> {
    bytes: &'b [u8],
    position: u64,
    left: u64,
    are_checked: bool,
}

impl<'b> Records<'b> {
    /// `position` is the logical position of the first byte. `left` is the number of bytes to the
    /// end of the section, in or after `bytes`.
    pub fn new(bytes: &'b [u8], position: u64, left: u64) -> Self {
        Self {
            bytes,
            position,
            left,
            are_checked: false,
        }
    }

    /// Marks all checksums as verified, so that they are not computed again.
    pub(crate) fn mark_checked(self) -> Self {
        Self {
            are_checked: true,
            ..self
        }
    }

    /// Returns the next payload.
    #[inline]
    fn payload(&self) -> Option<&'b [u8]> {
        if self.are_checked {
            let (size, _) = self.bytes.split_first_chunk::<4>()?;
            let size = u32::from_be_bytes(*size) as usize;
            let payload = self.bytes.get(HEADER..)?.get(..size);
            return payload.filter(|payload| !payload.is_empty());
        }
        match inspect(self.bytes, self.left) {
            Found::Record(payload) => Some(payload),
            _ => None,
        }
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = Record<'b>;

    #[inline]
    fn next(&mut self) -> Option<Record<'b>> {
        let payload = self.payload()?;
        let length = payload.len() + OVERHEAD;
        self.bytes = self.bytes.get(length..)?;
        self.position += length as u64;
        self.left -= length as u64;
        Some(Record {
            end: self.position,
            payload,
        })
    }
}
