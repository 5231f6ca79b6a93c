//! The cells of a row by their columns.

use commitlog_core::row::{Cell, Row};

/// Where the cells of each column lie in a row; reused from row to row.
#[derive(Default)]
pub struct CellPlaces {
    /// For each column of the table; none of a column that is not among the located ones.
    places: Vec<(u32, u32)>,
    located: Vec<u32>,
}

impl CellPlaces {
    /// Notes where the cells of each of `columns` columns lie; cells of a column are neighbours.
    #[inline]
    pub fn locate(&mut self, row: &Row<'_>, columns: usize) {
        let places = &mut self.places;
        // One by one: what many at once have cleared is slow to read right after.
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

    /// Whether a row writes a column.
    #[inline]
    pub fn has(&self, column: usize, row: &Row<'_>) -> bool {
        !self.cells(column, row).is_empty() || is_overwritten(column, row)
    }
}

/// The cells of a row that has at most one for each column, in the order of columns, and nothing
/// else: as nearly all are that have no collections.
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
