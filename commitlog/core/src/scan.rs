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
            let sum = |bytes: &[u8]| {
                bytes
                    .iter()
                    .fold(0_u64, |sum, byte| sum.wrapping_add(u64::from(*byte)))
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
