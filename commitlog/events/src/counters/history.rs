//! The last shards of counters, from which events compute growth.

use std::collections::BTreeMap;

use super::context::{Shard, ShardKind};

/// Four hashes or ids, from the partition inwards, so that what lies in a row or a partition are
/// neighbours.
type CounterKey = [u8; PLACE_BYTES];
const PART_BYTES: usize = 16;
const PLACE_BYTES: usize = 4 * PART_BYTES;

/// Memory of one remembered shard, with its share of the tree's nodes.
const ENTRY_BYTES: usize = 192;

/// The newest shard that was seen of a counter id in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    clock: i64,
    count: i64,
}

/// By how much a shard grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// The count less the one of `since`; wraps as the counter does.
    pub delta: i64,
    /// Clock of the shard that it is reckoned from.
    pub since: i64,
}

/// Where a cell's shards are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace {
    pub partition: [u8; PART_BYTES],
    pub row: [u8; PART_BYTES],
    pub column: [u8; PART_BYTES],
}

/// The newest shards of the counters that were met last, in bounded memory.
///
/// A growth is reported only when it is certain: the shard's clock is larger than that of the one
/// remembered. A repeat, an older shard that comes late, and the first one after a deletion, after
/// a restart or after it was forgotten have none. What a mutation changes is settled by
/// [`Self::settle`] or taken back by [`Self::revert`], so one that is rejected and read again is
/// seen for the first time again.
#[derive(Debug)]
pub struct CounterHistory {
    /// Entries live through two generations: those that nothing touched in the first one go with
    /// the second.
    young: BTreeMap<CounterKey, Known>,
    old: BTreeMap<CounterKey, Known>,
    max_young: usize,
    /// What stood at the places that the present mutation changed.
    undo: Vec<(CounterKey, Option<Known>)>,
}

impl CounterHistory {
    /// Holds at most `max_bytes` and the counters of one mutation.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            young: BTreeMap::new(),
            old: BTreeMap::new(),
            max_young: max_bytes / ENTRY_BYTES / 2,
            undo: Vec::new(),
        }
    }

    /// Shards that are remembered.
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

    /// Stores a shard and returns its growth if that is certain.
    pub fn follow(&mut self, cell: &CellPlace, shard: &Shard) -> Option<Growth> {
        // The others are no totals, or no leader's own.
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

    /// Forgets a cell, whose shards may restart after a deletion.
    pub fn forget_cell(&mut self, cell: &CellPlace) {
        self.forget(&[&cell.partition, &cell.row, &cell.column]);
    }

    pub fn forget_row(&mut self, partition: &[u8; PART_BYTES], row: &[u8; PART_BYTES]) {
        self.forget(&[partition, row]);
    }

    pub fn forget_partition(&mut self, partition: &[u8; PART_BYTES]) {
        self.forget(&[partition]);
    }

    /// Keeps what was remembered and forgotten since the last time.
    pub fn settle(&mut self) {
        self.undo.clear();
        if self.young.len() >= self.max_young {
            self.old = std::mem::take(&mut self.young);
            if self.max_young == 0 {
                self.old.clear();
            }
        }
    }

    /// Takes back what was remembered and forgotten since the last [`Self::settle`].
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
