//! Sync markers (`CommitLogSegment#writeSyncMarker`, format notes §2.1).

/// Length of a marker.
pub const MARKER_LENGTH: u64 = 8;

/// The eight bytes before a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Physical offset of the next marker.
    pub end: u64,
    /// Checksum of the segment id and of the marker's offset; it does not cover `end`.
    pub crc: u32,
}

impl Marker {
    /// Parses eight bytes; missing bytes count as zero.
    pub fn parse(bytes: &[u8]) -> Self {
        let word = bytes
            .iter()
            .chain(std::iter::repeat(&0))
            .take(MARKER_LENGTH as usize)
            .fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        Self {
            end: word >> 32,
            crc: word as u32,
        }
    }

    /// Whether the marker is zero, as in unsynced space and after the last section.
    pub fn is_zero(&self) -> bool {
        self.end == 0 && self.crc == 0
    }

    /// Whether a section from `position` to the marker's end fits into a file of `length` bytes.
    pub fn is_plausible(&self, position: u64, length: u64) -> bool {
        position + MARKER_LENGTH <= self.end && self.end <= length
    }
}

/// Computes the checksums of one segment's markers.
#[derive(Debug, Clone)]
pub struct MarkerChecksum {
    /// The state after the segment's id, low word first.
    after_id: crc32fast::Hasher,
}

impl MarkerChecksum {
    pub fn for_segment(segment_id: i64) -> Self {
        let mut after_id = crc32fast::Hasher::new();
        after_id.update(&(segment_id as u32).to_be_bytes());
        after_id.update(&((segment_id >> 32) as u32).to_be_bytes());
        Self { after_id }
    }

    /// Computes the checksum of a marker at the physical offset `position`.
    pub fn checksum(&self, position: u64) -> u32 {
        let mut crc = self.after_id.clone();
        crc.update(&(position as u32).to_be_bytes());
        crc.finalize()
    }

    /// Whether the checksum of `marker` is valid at the physical offset `position`.
    pub fn matches(&self, position: u64, marker: &Marker) -> bool {
        self.checksum(position) == marker.crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_marker_is_parsed() {
        // A marker at 20; the next marker is at 467.
        let marker = Marker::parse(&[0, 0, 1, 0xd3, 0x1e, 0x5c, 0x81, 0xd1]);
        assert_eq!(marker.end, 467);
        let checksum = MarkerChecksum::for_segment(1_699_285_478_684);
        assert!(checksum.matches(20, &marker));
        assert!(!checksum.matches(21, &marker));
        assert!(marker.is_plausible(20, 467));
        assert!(!marker.is_plausible(20, 466));
        assert!(!marker.is_plausible(460, 500));
    }
}
