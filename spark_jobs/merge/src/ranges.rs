//! The ranges that cover a row, for rows in the order of their clusterings.

use std::collections::BinaryHeap;

use crate::arena::Arena;
use crate::partition::RangeDeletion;

/// Finds the latest deletion by ranges, in one pass over rows and ranges.
#[derive(Debug, Default)]
pub struct RangeSweep {
    next: usize,
    /// Write time and place of the ranges that have begun.
    begun: BinaryHeap<(i64, usize)>,
}

impl RangeSweep {
    pub fn clear(&mut self) {
        self.next = 0;
        self.begun.clear();
    }

    /// The write time up to which ranges delete the row. `ranges` are sorted by `low`; each call
    /// has a `ck` that is not smaller than the one before.
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
