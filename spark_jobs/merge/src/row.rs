//! The latest version of each cell of a row.

use crate::arena::Span;
use crate::partition::{ComplexDeletion, RowWrite, Store};
use crate::version::{Deletion, Liveness};

/// The merge of writes to one row, or to the static row.
#[derive(Debug, Default)]
pub struct MergedRow {
    pub ckv: Option<Span>,
    pub liveness: Option<Liveness>,
    pub deletion: Option<Deletion>,
    /// One deletion per column, in the order of columns.
    pub complex: Vec<ComplexDeletion>,
    /// Indexes in [`Store::cells`], in the order of [`crate::version::Cell::compare_places`].
    pub cells: Vec<usize>,
}

impl MergedRow {
    pub fn clear(&mut self) {
        self.ckv = None;
        self.liveness = None;
        self.deletion = None;
        self.complex.clear();
        self.cells.clear();
    }

    /// Merges writes, which may be repeated and in any order.
    pub fn apply<'w>(&mut self, writes: impl IntoIterator<Item = &'w RowWrite>, store: &Store) {
        for write in writes {
            if let Some(ckv) = write.ckv {
                // Equal keys may have different bytes (1.0 and 1.00). Any of them is valid.
                let bytes = |span: Span| store.arena.get(span);
                let is_less = self.ckv.is_none_or(|known| bytes(ckv) < bytes(known));
                self.ckv = if is_less { Some(ckv) } else { self.ckv };
            }
            self.liveness = self.liveness.max(write.liveness);
            self.deletion = self.deletion.max(write.deletion);
            let complex = store.complex.get(write.complex.clone());
            self.complex.extend_from_slice(complex.unwrap_or_default());
            self.cells.extend(write.cells.clone());
        }
        self.merge_complex();
        self.merge_cells(store);
    }

    fn merge_complex(&mut self) {
        if self.complex.len() > 1 {
            self.complex
                .sort_by(|a, b| (a.column, b.deletion).cmp(&(b.column, a.deletion)));
            self.complex.dedup_by_key(|complex| complex.column);
        }
    }

    fn merge_cells(&mut self, store: &Store) {
        let cell = |index: &usize| store.cells.get(*index);
        let arena = &store.arena;
        let is_merged = self.cells.is_sorted_by(|a, b| match (cell(a), cell(b)) {
            (Some(a), Some(b)) => a.compare_places(b, arena).is_lt(),
            _ => true,
        });
        if is_merged {
            return;
        }
        self.cells.sort_by(|a, b| match (cell(a), cell(b)) {
            (Some(a), Some(b)) => a
                .compare_places(b, arena)
                .then_with(|| b.compare_precedence(a, arena)),
            _ => a.cmp(b),
        });
        self.cells.dedup_by(|b, a| match (cell(a), cell(b)) {
            (Some(a), Some(b)) => a.compare_places(b, arena).is_eq(),
            _ => false,
        });
    }
}
