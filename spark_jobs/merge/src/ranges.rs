//! Finds the range deletions that cover each row, for rows in clustering order.

use std::collections::BinaryHeap;

use crate::arena::Arena;
use crate::partition::RangeDeletion;

/// Finds the latest range deletion of each row, in one pass over rows and ranges.
#[derive(Debug, Default)]
pub struct RangeSweep {
    next: usize,
    /// Write time and index of the ranges that have begun.
    begun: BinaryHeap<(i64, usize)>,
}

impl RangeSweep {
    pub fn clear(&mut self) {
        self.next = 0;
        self.begun.clear();
    }

    /// The write time up to which ranges delete a row. `ranges` must be sorted by `low`, and `ck`
    /// must not decrease between calls.
    pub fn deleted_to_us(
        &mut self,
        ranges: &[RangeDeletion],
        ck: &[u8],
        arena: &Arena,
    ) -> Option<i64> {
        while let Some(range) = ranges.get(self.next)
            && arena.get(range.low) <= ck
        {
            self.begun.push((range.deletion.ts_us, self.next));
            self.next = self.next.saturating_add(1);
        }
        while let Some((ts_us, place)) = self.begun.peek().copied() {
            if ranges
                .get(place)
                .is_some_and(|range| ck < arena.get(range.high))
            {
                return Some(ts_us);
            }
            self.begun.pop();
        }
        None
    }
}
