//! Reading without making anything: every cell of every mutation is visited, which proves that a
//! segment can be read and tells how fast.

use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::Decoder;
use crate::row::{CellState, Row, Unfiltered};

/// What was seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scan {
    pub mutations: u64,
    pub updates: u64,
    pub rows: u64,
    pub markers: u64,
    pub cells: u64,
    pub payload_bytes: u64,
    /// Wrapping sum of all write times, TTLs, path bytes and value bytes; two readers that agree
    /// on it have looked at the same data.
    pub checksum: u64,
}

impl Scan {
    /// Visits one mutation. On an error what was counted of it stays counted.
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

/// The sum of all bytes, eight at a time and many at a time where there are many.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    const PAIRS: u64 = 0x00ff_00ff_00ff_00ff;
    let of_word = |word: u64| {
        let pairs = (word & PAIRS).wrapping_add(word >> 8 & PAIRS);
        pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48
    };
    let (blocks, rest) = bytes.as_chunks::<64>();
    let (words, tail) = rest.as_chunks::<8>();
    let mut sum = 0_u64;
    for block in blocks {
        let of_block = |sum: u32, byte: &u8| sum.wrapping_add(u32::from(*byte));
        sum = sum.wrapping_add(u64::from(block.iter().fold(0, of_block)));
    }
    for word in words {
        sum = sum.wrapping_add(of_word(u64::from_le_bytes(*word)));
    }
    for byte in tail {
        sum = sum.wrapping_add(u64::from(*byte));
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_every_byte(bytes: Vec<u8>) {
            let plain = bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            prop_assert_eq!(super::sum(&bytes), plain);
        }
    }
}
