//! The latest counter shards, from which the growth in events is computed.

use std::collections::BTreeMap;

use super::context::{Shard, ShardKind};

/// Partition, row, column and counter id, in this order, so that the shards of a row or partition
/// are adjacent.
type CounterKey = [u8; PLACE_BYTES];
const PART_BYTES: usize = 16;
const PLACE_BYTES: usize = 4 * PART_BYTES;

/// Memory of one stored shard, including its share of the tree nodes.
const ENTRY_BYTES: usize = 192;

/// The latest shard of a counter id in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    clock: i64,
    count: i64,
}

/// The growth of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// The count minus the count at clock `since`; it wraps like the counter.
    pub delta: i64,
    /// Clock of the previous shard.
    pub since: i64,
}

/// The key of a cell's shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace {
    pub partition: [u8; PART_BYTES],
    pub row: [u8; PART_BYTES],
    pub column: [u8; PART_BYTES],
}

/// The latest shards of recently updated counters, in bounded memory.
///
/// Growth is reported only if it is certain: the shard's clock is larger than the stored clock. No
/// growth is reported for a repeated or late shard, nor for the first shard after a deletion, a
/// restart or an eviction. After each mutation, [`Self::settle`] keeps its changes or
/// [`Self::revert`] undoes them, so a rejected mutation can be read again.
#[derive(Debug)]
pub struct CounterHistory {
    /// When this generation is full, it replaces `old`. Shards that were not updated in between are
    /// dropped.
    young: BTreeMap<CounterKey, Known>,
    old: BTreeMap<CounterKey, Known>,
    max_young: usize,
    /// The previous entries of the keys that the current mutation changed.
    undo: Vec<(CounterKey, Option<Known>)>,
}

impl CounterHistory {
    /// Creates a history of at most `max_bytes`, plus the counters of one mutation.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            young: BTreeMap::new(),
            old: BTreeMap::new(),
            max_young: max_bytes / ENTRY_BYTES / 2,
            undo: Vec::new(),
        }
    }

    /// Returns the number of stored shards.
    pub fn len(&self) -> usize {
        let hidden = self
            .old
            .keys()
            .filter(|place| self.young.contains_key(*place));
        self.young.len() + self.old.len() - hidden.count()
    }

    pub fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    /// Stores a shard and returns its growth if it is certain.
    pub fn follow(&mut self, cell: &CellPlace, shard: &Shard) -> Option<Growth> {
        // Local shards are not totals, and remote shards are copies from other nodes.
        if shard.kind != ShardKind::Global {
            return None;
        }
        let place = place_of(cell, &shard.counter_id);
        let known = self.get(&place);
        if known.is_some_and(|known| known.clock >= shard.clock) {
            return None;
        }
        self.undo.push((place, known));
        let newest = Known {
            clock: shard.clock,
            count: shard.count,
        };
        self.young.insert(place, newest);
        known.map(|known| Growth {
            delta: shard.count.wrapping_sub(known.count),
            since: known.clock,
        })
    }

    /// Forgets a cell, because its shards may restart after a deletion.
    pub fn forget_cell(&mut self, cell: &CellPlace) {
        self.forget(&[&cell.partition, &cell.row, &cell.column]);
    }

    pub fn forget_row(&mut self, partition: &[u8; PART_BYTES], row: &[u8; PART_BYTES]) {
        self.forget(&[partition, row]);
    }

    pub fn forget_partition(&mut self, partition: &[u8; PART_BYTES]) {
        self.forget(&[partition]);
    }

    /// Keeps all changes since the previous call.
    pub fn settle(&mut self) {
        self.undo.clear();
        if self.young.len() >= self.max_young {
            self.old = std::mem::take(&mut self.young);
            if self.max_young == 0 {
                self.old.clear();
            }
        }
    }

    /// Undoes all changes since the previous [`Self::settle`].
    pub fn revert(&mut self) {
        while let Some((place, known)) = self.undo.pop() {
            if let Some(known) = known {
                self.young.insert(place, known);
            } else {
                self.young.remove(&place);
                self.old.remove(&place);
            }
        }
    }

    fn get(&self, place: &CounterKey) -> Option<Known> {
        let found = self.young.get(place).or_else(|| self.old.get(place));
        found.copied()
    }

    fn forget(&mut self, parts: &[&[u8; PART_BYTES]]) {
        let filled = |rest: u8| {
            let mut place = [rest; PLACE_BYTES];
            for (slot, part) in place.chunks_exact_mut(PART_BYTES).zip(parts) {
                slot.copy_from_slice(*part);
            }
            place
        };
        let range = filled(0)..=filled(u8::MAX);
        let places = self.young.range(range.clone()).chain(self.old.range(range));
        let places: Vec<CounterKey> = places.map(|(place, _)| *place).collect();
        for place in places {
            if let Some(known) = self.get(&place) {
                self.undo.push((place, Some(known)));
            }
            self.young.remove(&place);
            self.old.remove(&place);
        }
    }
}

fn place_of(cell: &CellPlace, counter_id: &[u8; 16]) -> CounterKey {
    let mut place = [0; PLACE_BYTES];
    let parts = [&cell.partition, &cell.row, &cell.column, counter_id];
    for (slot, part) in place.chunks_exact_mut(PART_BYTES).zip(parts) {
        slot.copy_from_slice(part);
    }
    place
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn cell(partition: u8, row: u8, column: u8) -> CellPlace {
        CellPlace {
            partition: [partition; 16],
            row: [row; 16],
            column: [column; 16],
        }
    }

    fn shard(id: u8, clock: i64, count: i64) -> Shard {
        Shard {
            counter_id: [id; 16],
            clock,
            count,
            kind: ShardKind::Global,
        }
    }

    fn growth(delta: i64, since: i64) -> Growth {
        Growth { delta, since }
    }

    #[test]
    fn only_larger_clock_yields_growth() {
        let mut history = CounterHistory::new(1 << 20);
        let key = cell(1, 1, 1);
        assert_eq!(history.follow(&key, &shard(1, 10, 5)), None);
        assert_eq!(history.follow(&key, &shard(1, 20, 8)), Some(growth(3, 10)));
        assert_eq!(history.follow(&key, &shard(1, 20, 8)), None, "a repeat");
        assert_eq!(history.follow(&key, &shard(1, 15, 6)), None, "a late one");
        assert_eq!(
            history.follow(&key, &shard(2, 12, 1)),
            None,
            "another leader"
        );
        assert_eq!(history.follow(&cell(1, 2, 1), &shard(1, 30, 9)), None);
        assert_eq!(history.follow(&key, &shard(1, 30, 1)), Some(growth(-7, 20)));
        let local = Shard {
            kind: ShardKind::Local,
            ..shard(1, 40, 2)
        };
        assert_eq!(history.follow(&key, &local), None);
    }

    #[test]
    fn counter_growth_wraps() {
        let mut history = CounterHistory::new(1 << 20);
        history.follow(&cell(1, 1, 1), &shard(1, 1, i64::MAX));
        let grown = history.follow(&cell(1, 1, 1), &shard(1, 2, i64::MIN));
        assert_eq!(grown, Some(growth(1, 1)));
    }

    #[test]
    fn deletions_forget_covered_cells() {
        let places = [cell(1, 1, 1), cell(1, 1, 2), cell(1, 2, 1), cell(2, 1, 1)];
        let known_after = |forget: &dyn Fn(&mut CounterHistory)| {
            let mut history = CounterHistory::new(1 << 20);
            for key in &places {
                history.follow(key, &shard(1, 1, 1));
                history.follow(key, &shard(2, 1, 1));
            }
            history.settle();
            forget(&mut history);
            places.map(|key| history.follow(&key, &shard(2, 2, 2)).is_some())
        };
        let cell_only = known_after(&|history| history.forget_cell(&cell(1, 1, 1)));
        assert_eq!(cell_only, [false, true, true, true]);
        let row = known_after(&|history| history.forget_row(&[1; 16], &[1; 16]));
        assert_eq!(row, [false, false, true, true]);
        let partition = known_after(&|history| history.forget_partition(&[1; 16]));
        assert_eq!(partition, [false, false, false, true]);
    }

    #[test]
    fn rejected_mutation_leaves_no_trace() {
        let mut history = CounterHistory::new(1 << 20);
        let key = cell(1, 1, 1);
        history.follow(&key, &shard(1, 1, 1));
        history.settle();
        history.follow(&key, &shard(1, 2, 5));
        history.follow(&cell(1, 1, 2), &shard(1, 2, 5));
        history.forget_partition(&[1; 16]);
        history.follow(&key, &shard(1, 3, 7));
        history.revert();
        assert_eq!(history.len(), 1);
        assert_eq!(history.follow(&key, &shard(1, 2, 5)), Some(growth(4, 1)));
    }

    #[test]
    fn memory_is_bounded_and_used_entries_stay() {
        let entries = 1000;
        let mut history = CounterHistory::new(entries * ENTRY_BYTES);
        let busy = cell(0xff, 0xff, 0xff);
        for number in 0_i64..20_000 {
            let mut key = cell(1, 1, 1);
            key.row[..8].copy_from_slice(&number.to_be_bytes());
            history.follow(&key, &shard(1, 1, 1));
            if number % 100 == 0 {
                let grown = history.follow(&busy, &shard(1, number + 1, number));
                assert_eq!(
                    grown,
                    (number > 0).then_some(Growth {
                        delta: 100,
                        since: number - 99,
                    })
                );
            }
            history.settle();
            assert!(history.len() <= entries);
        }
        let mut empty = CounterHistory::new(0);
        empty.follow(&busy, &shard(1, 1, 1));
        empty.settle();
        assert!(empty.is_empty());
    }
}
