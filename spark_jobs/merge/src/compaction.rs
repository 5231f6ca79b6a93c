//! Computes row states: the latest version of each cell, one state per row.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int64Builder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::Fields;

use crate::arena::Span;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::output::{Room, nullable};
use crate::partition::{RangeDeletion, RowWrite};
use crate::purge::Purge;
use crate::ranges::RangeSweep;
use crate::row::MergedRow;
use crate::state::Versions;
use crate::version::{Cell, Deletion, Rank, covers};

/// Compacts partitions.
#[derive(Debug, Default)]
pub struct Compaction {
    purge: Purge,
    keep_superseded: bool,
    partition_us: Option<i64>,
    sweep: RangeSweep,
    row: MergedRow,
    kept: Versions,
    superseded: Versions,
    output: States,
}

/// Builders of the output.
#[derive(Debug, Default)]
struct States {
    room: Room,
    buffer: Vec<u8>,
    tokens: Int64Builder,
    clusterings: BinaryBuilder,
    encoded: BinaryBuilder,
    are_superseded: BooleanBuilder,
}

impl Compaction {
    /// With `keep_superseded`, also emits states of the dropped versions.
    pub fn new(purge: Purge, keep_superseded: bool) -> Self {
        Self {
            purge,
            keep_superseded,
            ..Self::default()
        }
    }

    /// Divides the writes to a row, of which other deletions cover those up to `deleted_to_us`.
    fn divide(&mut self, writes: &[RowWrite], deleted_to_us: Option<i64>, view: View<'_>) {
        self.row.clear();
        self.row.apply(writes, view.store);
        let row_us = self.row.deletion.map(|deletion| deletion.ts_us);
        let covered_to_us = self.purge.covered_to_us(deleted_to_us.max(row_us));
        if let Some(liveness) = self.row.liveness {
            let is_dropped = covers(covered_to_us, liveness.ts_us)
                || self.purge.drops(|before_s| liveness.is_purgeable(before_s));
            if !is_dropped {
                self.kept.livenesses.push(liveness);
            }
        }
        if let Some(deletion) = self.row.deletion {
            self.keep_deletion(deletion);
        }
        for complex in &self.row.complex {
            let is_dropped = self
                .purge
                .drops(|before_s| complex.deletion.is_purgeable(before_s));
            if !is_dropped {
                self.kept.complex.push(*complex);
            }
        }
        self.divide_cells(covered_to_us, view);
        if self.keep_superseded {
            self.supersede(writes, view);
        }
    }

    fn keep_deletion(&mut self, deletion: Deletion) {
        if !self.purge.drops(|before_s| deletion.is_purgeable(before_s)) {
            self.kept.deletions.push(deletion);
        }
    }

    /// Keeps the latest cells, unless they are covered or purgeable.
    fn divide_cells(&mut self, covered_to_us: Option<i64>, view: View<'_>) {
        let mut deleted_counter = None;
        for index in &self.row.cells {
            let Some(cell) = view.store.cells.get(*index) else {
                continue;
            };
            let complex = &self.row.complex;
            let of_column = complex.iter().find(|complex| complex.column == cell.column);
            let complex_us = of_column.map(|complex| complex.deletion.ts_us);
            let complex_us = complex_us.filter(|_| self.purge.before_s.is_some());
            let is_covered = covers(covered_to_us.max(complex_us), cell.ts_us);
            let is_purgeable = self.purge.drops(|before_s| cell.is_purgeable(before_s));
            let is_counter_deletion = view.columns.has_counters && cell.rank == Rank::Tombstone;
            if is_counter_deletion {
                // It covers all following shards, which belong to the same column.
                deleted_counter = self.purge.before_s.map(|_| cell.column);
            }
            let is_dropped = if is_counter_deletion {
                is_purgeable
            } else {
                is_covered || is_purgeable || deleted_counter == Some(cell.column)
            };
            if !is_dropped {
                self.kept.cells.push(*index);
            }
        }
    }

    /// Collects the versions of a row that are not kept.
    fn supersede(&mut self, writes: &[RowWrite], view: View<'_>) {
        let store = view.store;
        let superseded = &mut self.superseded;
        let kept = &self.kept;
        let livenesses = writes.iter().filter_map(|write| write.liveness);
        superseded.livenesses = without(livenesses, &kept.livenesses);
        let deletions = writes.iter().filter_map(|write| write.deletion);
        superseded.deletions = without(deletions, &kept.deletions);
        let complex = writes
            .iter()
            .filter_map(|write| store.complex.get(write.complex.clone()));
        superseded.complex = without(complex.flatten().copied(), &kept.complex);
        let cell = |index: &usize| store.cells.get(*index);
        let compare = |a: &Cell, b: &Cell| {
            let places = a.compare_places(b, &store.arena);
            places.then_with(|| a.compare_precedence(b, &store.arena))
        };
        let mut cells: Vec<usize> = writes.iter().flat_map(|w| w.cells.clone()).collect();
        cells.sort_by(|a, b| match (cell(a), cell(b)) {
            (Some(a), Some(b)) => compare(a, b),
            _ => a.cmp(b),
        });
        cells.dedup_by(|a, b| match (cell(a), cell(b)) {
            (Some(a), Some(b)) => compare(a, b).is_eq(),
            _ => false,
        });
        let mut kept = self.kept.cells.iter().filter_map(cell).peekable();
        for index in cells {
            let Some(version) = cell(&index) else {
                continue;
            };
            if kept
                .next_if(|kept| compare(kept, version).is_eq())
                .is_none()
            {
                superseded.cells.push(index);
            }
        }
    }

    /// Divides the deletions of the partition level.
    fn divide_partition_level(&mut self, view: View<'_>) {
        let deletions = &view.partition.deletions;
        if let Some((deletion, _)) = deletions.iter().max_by_key(|(deletion, _)| *deletion) {
            self.keep_deletion(*deletion);
        }
        let arena = &view.store.arena;
        let bounds = |range: &RangeDeletion| (arena.get(range.low), arena.get(range.high));
        let mut last: Option<&RangeDeletion> = None;
        for range in &view.partition.ranges {
            let is_latest = last.is_none_or(|last| bounds(last) != bounds(range));
            let is_repeated = last.is_some_and(|last| last.deletion == range.deletion);
            last = Some(range);
            let is_purgeable = |before_s| range.deletion.is_purgeable(before_s);
            if is_latest && !self.purge.drops(is_purgeable) {
                self.kept.ranges.push(*range);
            } else if (is_latest || !is_repeated) && self.keep_superseded {
                self.superseded.ranges.push(*range);
            }
        }
        if self.keep_superseded {
            let all = deletions.iter().map(|(deletion, _)| *deletion);
            self.superseded.deletions = without(all, &self.kept.deletions);
        }
    }

    fn emit(&mut self, view: View<'_>, ck: Option<Span>) -> Result<()> {
        for (versions, is_superseded) in [(&mut self.kept, false), (&mut self.superseded, true)] {
            if !versions.is_empty() {
                versions.ck = ck;
                versions.ckv = self.row.ckv;
                self.output.append(versions, view, is_superseded)?;
            }
            versions.clear();
        }
        Ok(())
    }
}

/// Returns the distinct versions that are not kept, in order.
fn without<T: Ord>(all: impl Iterator<Item = T>, kept: &[T]) -> Vec<T> {
    let mut versions: Vec<T> = all.collect();
    versions.sort_unstable();
    versions.dedup();
    versions.retain(|version| !kept.contains(version));
    versions
}

impl States {
    fn append(
        &mut self,
        versions: &mut Versions,
        view: View<'_>,
        is_superseded: bool,
    ) -> Result<()> {
        self.buffer.clear();
        versions.encode(
            &view.partition.pk,
            view.store,
            view.columns,
            &mut self.buffer,
        );
        let ck = versions.ck.map(|ck| view.store.arena.get(ck));
        let bytes = self.buffer.len().saturating_add(ck.map_or(0, <[u8]>::len));
        self.room.add_row(bytes)?;
        self.tokens.append_value(view.token);
        self.clusterings.append_option(ck);
        self.encoded.append_value(&self.buffer);
        self.are_superseded.append_value(is_superseded);
        Ok(())
    }

    fn take(&mut self) -> Result<StructArray> {
        self.room.clear();
        let columns: [(&str, ArrayRef); 4] = [
            ("token", Arc::new(self.tokens.finish())),
            ("ck", Arc::new(self.clusterings.finish())),
            ("state", Arc::new(self.encoded.finish())),
            ("is_superseded", Arc::new(self.are_superseded.finish())),
        ];
        nullable(columns, None)
    }
}

impl Evaluation for Compaction {
    fn fields(&self) -> Result<Fields> {
        Ok(States::default().take()?.fields().clone())
    }

    fn begin(&mut self, view: View<'_>) -> Result<()> {
        self.partition_us = view.partition.deleted_to_us();
        self.sweep.clear();
        self.divide(&view.partition.statics, self.partition_us, view);
        self.divide_partition_level(view);
        self.emit(view, None)
    }

    fn evaluate(&mut self, view: View<'_>, ck: Span, writes: &[RowWrite]) -> Result<()> {
        let (ranges, arena) = (&view.partition.ranges, &view.store.arena);
        let range_us = self.sweep.deleted_to_us(ranges, arena.get(ck), arena);
        self.divide(writes, self.partition_us.max(range_us), view);
        self.emit(view, Some(ck))
    }

    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        let output = &mut self.output;
        let is_due = output.room.is_full() || (is_last && output.room.rows > 0);
        is_due.then(|| output.take()).transpose()
    }
}
