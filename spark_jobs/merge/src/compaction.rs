//! Computes row states: the latest version of each cell, one state per row.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int64Builder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};

use crate::arena::Span;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::output::Room;
use crate::partition::{RangeDeletion, RowWrite};
use crate::purge::Purge;
use crate::ranges::RangeSweep;
use crate::row::MergedRow;
use crate::state::Versions;
use crate::version::{Cell, Deletion, Liveness, Rank, covers};

/// Compacts partitions.
#[derive(Debug, Default)]
pub struct Compaction {
    purge: Purge,
    keep_superseded: bool,
    place: usize,
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
        let mut livenesses: Vec<Liveness> = writes.iter().filter_map(|w| w.liveness).collect();
        livenesses.sort_unstable();
        livenesses.dedup();
        livenesses.retain(|liveness| !self.kept.livenesses.contains(liveness));
        superseded.livenesses = livenesses;
        let deletions = writes.iter().filter_map(|write| write.deletion);
        superseded.deletions = superseded_deletions(deletions, &self.kept.deletions);
        for write in writes {
            let complex = store.complex.get(write.complex.clone());
            superseded
                .complex
                .extend_from_slice(complex.unwrap_or_default());
            superseded.cells.extend(write.cells.clone());
        }
        let complex = &mut superseded.complex;
        complex.sort_unstable_by_key(|complex| (complex.column, complex.deletion));
        complex.dedup_by_key(|complex| (complex.column, complex.deletion));
        complex.retain(|complex| !self.kept.complex.contains(complex));
        let cell = |index: &usize| store.cells.get(*index);
        let compare = |a: &Cell, b: &Cell| {
            let places = a.compare_places(b, &store.arena);
            places.then_with(|| a.compare_precedence(b, &store.arena))
        };
        let mut cells: Vec<usize> = std::mem::take(&mut superseded.cells);
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
            let superseded = superseded_deletions(all, &self.kept.deletions);
            self.superseded.deletions = superseded;
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

fn superseded_deletions(all: impl Iterator<Item = Deletion>, kept: &[Deletion]) -> Vec<Deletion> {
    let mut deletions: Vec<Deletion> = all.collect();
    deletions.sort_unstable();
    deletions.dedup();
    deletions.retain(|deletion| !kept.contains(deletion));
    deletions
}

impl States {
    fn fields() -> Fields {
        Fields::from(vec![
            Field::new("token", DataType::Int64, true),
            Field::new("ck", DataType::Binary, true),
            Field::new("state", DataType::Binary, true),
            Field::new("is_superseded", DataType::Boolean, true),
        ])
    }

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
}

impl Evaluation for Compaction {
    fn fields(&self) -> Fields {
        States::fields()
    }

    fn begin(&mut self, view: View<'_>) -> Result<()> {
        let deletions = view.partition.deletions.iter();
        self.partition_us = deletions.map(|(deletion, _)| deletion.ts_us).max();
        self.place = 0;
        self.sweep.clear();
        self.divide(&view.partition.statics, self.partition_us, view);
        self.divide_partition_level(view);
        self.emit(view, None)
    }

    fn advance(&mut self, view: View<'_>) -> Result<bool> {
        let (partition, arena) = (view.partition, &view.store.arena);
        let end = partition.row_end(self.place, arena);
        let writes = partition.rows.get(self.place..end).unwrap_or_default();
        let Some(first) = writes.first() else {
            return Ok(false);
        };
        self.place = end;
        let ck = arena.get(first.ck);
        let range_us = self.sweep.deleted_to_us(&partition.ranges, ck, arena);
        self.divide(writes, self.partition_us.max(range_us), view);
        self.emit(view, Some(first.ck))?;
        Ok(true)
    }

    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        let output = &mut self.output;
        if output.room.rows == 0 || !(output.room.is_full() || is_last) {
            return Ok(None);
        }
        output.room.clear();
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(output.tokens.finish()),
            Arc::new(output.clusterings.finish()),
            Arc::new(output.encoded.finish()),
            Arc::new(output.are_superseded.finish()),
        ];
        Ok(Some(StructArray::try_new(States::fields(), arrays, None)?))
    }
}
