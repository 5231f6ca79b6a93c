//! The cells of a row by column.

use commitlog_core::row::{Cell, Row};

/// The location of each column's cells in a row; reused from row to row.
#[derive(Default)]
pub struct CellPlaces {
    /// Start and end for each column of the table; zeros for columns not in `located`.
    places: Vec<(u32, u32)>,
    located: Vec<u32>,
}

impl CellPlaces {
    /// Locates the cells of each of `columns` columns; the cells of a column are adjacent.
    #[inline]
    pub fn locate(&mut self, row: &Row<'_>, columns: usize) {
        let places = &mut self.places;
        // One by one, because entries cleared by a wide store are slow to read right after it.
        for column in self.located.drain(..) {
            if let Some(place) = places.get_mut(column as usize) {
                *place = (0, 0);
            }
        }
        if places.len() < columns {
            places.resize(columns, (0, 0));
        }
        for (index, cell) in (0_u32..).zip(&row.cells) {
            if let Some((start, end)) = places.get_mut(cell.column as usize) {
                if *end == 0 {
                    *start = index;
                    self.located.push(cell.column);
                }
                *end = index + 1;
            }
        }
    }

    #[inline]
    pub fn cells<'r, 'p>(&self, column: usize, row: &'r Row<'p>) -> &'r [Cell<'p>] {
        let (start, end) = self.places.get(column).copied().unwrap_or((0, 0));
        row.cells
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// Returns whether a row writes a column.
    #[inline]
    pub fn has(&self, column: usize, row: &Row<'_>) -> bool {
        !self.cells(column, row).is_empty() || is_overwritten(column, row)
    }
}

/// Returns the cells of a row with at most one cell per column, in column order, and without
/// collections. Nearly all rows of tables without collections qualify.
#[inline]
pub fn simple_cells<'r, 'p>(row: &'r Row<'p>) -> Option<&'r [Cell<'p>]> {
    let cells = row.cells.as_slice();
    let is_simple = row.complex_deletions.is_empty()
        && cells.is_sorted_by(|a, b| a.column < b.column)
        && cells.iter().all(|cell| cell.path.is_none());
    is_simple.then_some(cells)
}

#[inline]
fn is_overwritten(column: usize, row: &Row<'_>) -> bool {
    row.complex_deletions
        .iter()
        .any(|(index, _)| *index as usize == column)
}
