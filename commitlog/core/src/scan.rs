//! Visits every cell of every mutation without producing output, to verify that a segment is
//! readable and to measure the speed.

use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::Decoder;
use crate::row::{CellState, Row, Unfiltered};

/// Counts of the data visited so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scan {
    pub mutations: u64,
    pub updates: u64,
    pub rows: u64,
    pub markers: u64,
    pub cells: u64,
    pub payload_bytes: u64,
    /// Wrapping sum of the write times, TTLs, path bytes and value bytes of all cells, for
    /// comparing readers.
    pub checksum: u64,
}

impl Scan {
    /// Visits one mutation. After an error, the counts include the part that was read.
    pub fn visit<'p>(
        &mut self,
        decoder: &mut Decoder,
        version: Version,
        payload: &'p [u8],
        row: &mut Row<'p>,
    ) -> Result<()> {
        self.payload_bytes += payload.len() as u64;
        let mut mutation = decoder.mutation(payload, version)?;
        while mutation.next_update()?.is_some() {
            self.updates += 1;
            while let Some(unfiltered) = mutation.next_unfiltered(row)? {
                match unfiltered {
                    Unfiltered::Row => self.row(row),
                    Unfiltered::Marker(_) => self.markers += 1,
                }
            }
        }
        self.mutations += 1;
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) {
        self.rows += 1;
        self.cells += row.cells.len() as u64;
        for cell in &row.cells {
            let ttl_s = match cell.state {
                CellState::Expiring(expiry) => expiry.ttl_s as u64,
                CellState::Live | CellState::Tombstone(_) => 0,
            };
            self.checksum = self
                .checksum
                .wrapping_add(cell.timestamp_us as u64)
                .wrapping_add(ttl_s)
                .wrapping_add(sum(cell.path.unwrap_or_default()))
                .wrapping_add(sum(cell.value));
        }
    }
}

/// Adds all bytes, many at a time.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if let Some(last) = bytes.last_chunk::<8>() {
        let (words, tail) = bytes.as_chunks::<8>();
        // The last word, without the bytes that the words before it contain.
        let last = u64::from_le_bytes(*last).checked_shr(64 - 8 * tail.len() as u32);
        let first = sum_of_pairs(pairs(last.unwrap_or_default()));
        words.chunks(MOST_PAIRS).fold(first, |sum, run| {
            let words = run.iter().map(|word| pairs(u64::from_le_bytes(*word)));
            sum.wrapping_add(sum_of_pairs(words.fold(0, u64::wrapping_add)))
        })
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) >> (64 - 8 * length);
        let first = u64::from(u32::from_le_bytes(*first));
        sum_of_pairs(pairs(first).wrapping_add(pairs(last)))
    } else {
        bytes
            .iter()
            .fold(0, |sum, byte| sum.wrapping_add(u64::from(*byte)))
    }
}

/// This many sums of two bytes fit into 16 bits.
const MOST_PAIRS: usize = 128;

/// Adds pairs of bytes; returns four sums of 16 bits each.
#[inline]
fn pairs(word: u64) -> u64 {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    (word & EVEN).wrapping_add(word >> 8 & EVEN)
}

/// Adds four numbers of 16 bits.
#[inline]
fn sum_of_pairs(pairs: u64) -> u64 {
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    let halves = (pairs & EVEN).wrapping_add(pairs >> 16 & EVEN);
    (halves & 0xffff_ffff).wrapping_add(halves >> 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_every_byte(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 250_u8..=255], 0..5000)) {
            let plain = bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            prop_assert_eq!(super::sum(&bytes), plain);
        }
    }
}
