//! The visible content of a row at a second.

use crate::arena::Span;
use crate::evaluation::View;
use crate::partition::{ComplexDeletion, Store};
use crate::row::MergedRow;
use crate::version::{Cell, Liveness, Rank, covers};

/// The value of a shown cell.
#[derive(Debug, Clone, Copy)]
pub enum ShownValue {
    Bytes(Span),
    /// The sum of a counter, as CQL encodes it.
    Counter([u8; 8]),
}

/// A live cell of a shown column.
#[derive(Debug, Clone, Copy)]
pub struct ShownCell {
    pub column: u32,
    pub path: Option<Span>,
    pub value: ShownValue,
    pub ts_us: i64,
    /// The second at which the cell expires.
    pub expiry_s: Option<i64>,
    pub ttl_s: i32,
}

/// The live values of a row, or of the static row, in the order of columns and elements.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pub cells: Vec<ShownCell>,
    /// The row marker of a live INSERT, which makes the row visible even without cells.
    pub marker: Option<Liveness>,
}

impl ShownCell {
    #[inline]
    pub fn value<'a>(&'a self, store: &'a Store) -> &'a [u8] {
        match &self.value {
            ShownValue::Bytes(span) => store.arena.get(*span),
            ShownValue::Counter(bytes) => bytes,
        }
    }
}

impl Content {
    pub const fn empty() -> Self {
        Self {
            cells: Vec::new(),
            marker: None,
        }
    }

    pub fn clear(&mut self) {
        self.cells.clear();
        self.marker = None;
    }

    pub fn is_visible(&self) -> bool {
        self.marker.is_some() || !self.cells.is_empty()
    }

    /// Replaces the content with the content of `row`. Writes up to `deleted_to_us` are deleted.
    pub fn evaluate(
        &mut self,
        row: &MergedRow,
        deleted_to_us: Option<i64>,
        now_s: i64,
        view: View<'_>,
    ) {
        let (store, columns) = (view.store, view.columns);
        self.clear();
        if let Some(liveness) = row.liveness
            && liveness.is_live(now_s)
            && !covers(deleted_to_us, liveness.ts_us)
        {
            self.marker = Some(liveness);
        }
        let mut complex = row.complex.as_slice();
        let is_shown = |cell: &Cell, complex: &mut &[ComplexDeletion]| {
            if covers(deleted_to_us, cell.ts_us) || !columns.shows(cell.column, cell.ts_us) {
                return false;
            }
            while let Some((first, rest)) = complex.split_first()
                && first.column < cell.column
            {
                *complex = rest;
            }
            let of_column = complex.first().filter(|first| first.column == cell.column);
            !covers(of_column.map(|first| first.deletion.ts_us), cell.ts_us)
        };
        let cells = row.cells.iter().filter_map(|index| store.cells.get(*index));
        if columns.has_counters {
            self.sum(cells, store, |cell| is_shown(cell, &mut complex));
            return;
        }
        for cell in cells {
            if cell.is_live(now_s) && is_shown(cell, &mut complex) {
                self.cells.push(ShownCell {
                    column: cell.column,
                    path: cell.path,
                    value: ShownValue::Bytes(cell.value),
                    ts_us: cell.ts_us,
                    expiry_s: (cell.rank == Rank::Expiring).then_some(cell.ldt_s),
                    ttl_s: cell.ttl_s,
                });
            }
        }
    }

    /// Sums the live shards of each counter column that was not deleted.
    fn sum<'c>(
        &mut self,
        cells: impl Iterator<Item = &'c Cell>,
        store: &Store,
        mut is_shown: impl FnMut(&Cell) -> bool,
    ) {
        let mut deleted = None;
        for cell in cells {
            if cell.rank != Rank::Shard {
                // The deletion precedes the shards of its column, and no later write undoes it.
                deleted = Some(cell.column);
            } else if deleted != Some(cell.column) && is_shown(cell) {
                let count = store.arena.get(cell.value).first_chunk().copied();
                let count = i64::from_be_bytes(count.unwrap_or_default());
                match self.cells.last_mut() {
                    Some(ShownCell {
                        column,
                        value: ShownValue::Counter(sum),
                        ts_us,
                        ..
                    }) if *column == cell.column => {
                        *sum = i64::from_be_bytes(*sum).wrapping_add(count).to_be_bytes();
                        *ts_us = (*ts_us).max(cell.ts_us);
                    }
                    _ => self.cells.push(ShownCell {
                        column: cell.column,
                        path: None,
                        value: ShownValue::Counter(count.to_be_bytes()),
                        ts_us: cell.ts_us,
                        expiry_s: None,
                        ttl_s: 0,
                    }),
                }
            }
        }
    }

    /// Whether both contents show the same bytes. Write times do not matter.
    pub fn has_same_bytes(&self, other: &Self, store: &Store) -> bool {
        self.is_visible() == other.is_visible() && have_same_bytes(&self.cells, &other.cells, store)
    }

    /// The expiries of the shown cells and of the row marker.
    pub fn expiries_s(&self) -> impl Iterator<Item = i64> {
        let of_cells = self.cells.iter().filter_map(|cell| cell.expiry_s);
        of_cells.chain(self.marker.and_then(|marker| marker.expiry_s()))
    }

    /// The next second at which a cell or the row marker expires.
    pub fn next_expiry_s(&self) -> Option<i64> {
        self.expiries_s().min()
    }
}

/// Whether the columns, values and paths of all cells are equal.
pub fn have_same_bytes(a: &[ShownCell], b: &[ShownCell], store: &Store) -> bool {
    let bytes = |span: Option<Span>| span.map(|span| store.arena.get(span));
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.column == b.column
                && a.value(store) == b.value(store)
                && bytes(a.path) == bytes(b.path)
        })
}
