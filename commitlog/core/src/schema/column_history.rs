//! Columns that were dropped and added again.

use super::Column;

/// Of columns with one name and kind keeps the live one, or else the one dropped last: that is the
/// one whose type a name on the wire is read with.
pub(super) fn keep_latest(columns: &mut Vec<Column>) {
    let rank = |column: &Column| column.dropped_at_us.map_or((1, 0), |us| (0, us));
    let mut kept: Vec<Column> = Vec::with_capacity(columns.len());
    for column in columns.drain(..) {
        let same = kept
            .iter_mut()
            .find(|other| other.kind == column.kind && other.name == column.name);
        match same {
            Some(other) if rank(&column) >= rank(other) => *other = column,
            Some(_) => {}
            None => kept.push(column),
        }
    }
    *columns = kept;
}
