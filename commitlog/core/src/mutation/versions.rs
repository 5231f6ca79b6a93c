//! Finds the types of a mutation's columns if columns were re-added with a different type.
//!
//! The bytes contain only column names. Cassandra writes a mutation with one state of its table, so
//! each reading uses one version of each column for all rows. A reading is valid if it decodes the
//! mutation to its exact end and every value fits its type. The right reading uses the versions
//! that existed at the write times of their cells ([`version_at`]). If clients chose the write
//! times, a single valid reading is right. Other cases stay undecided: a type is never guessed.

use super::{MutationReader, OpenUpdate};
use crate::error::{DecodeError, Result};
use crate::row::{CellState, Row, Unfiltered};
use crate::schema::{Column, Table, version_at};
use crate::type_inference::fits;

/// Maximum number of readings for one mutation.
pub(super) const MOST_READINGS: u32 = 256;

/// A valid reading, compared with the write times.
struct Reading {
    open: OpenUpdate,
    /// Whether all versions existed at the write times of their cells.
    agrees: bool,
    /// Whether any cell belongs to a column with several versions.
    has_cells: bool,
}

impl MutationReader<'_, '_> {
    /// Chooses the reading of the current update; the cursor is before its rows.
    #[cold]
    pub(super) fn choose(&mut self) -> Result<()> {
        let is_outermost = self.readings_left == MOST_READINGS;
        let (Some(open), Some(plan)) = (self.open, self.decoder.plans.get_mut(self.place)) else {
            return Ok(());
        };
        let table = std::sync::Arc::clone(&plan.table);
        let regular_lists = plan
            .regular_lists
            .readings(open.regular_list, &table, is_outermost);
        let static_lists = if open.static_row_is_next {
            plan.static_lists
                .readings(open.static_list, &table, is_outermost)
        } else {
            Some(vec![open.static_list])
        };
        let undecided = || {
            Box::new(DecodeError::UndecidedTypes {
                table: format!("{}.{}", table.keyspace, table.name),
            })
        };
        let (Some(regular_lists), Some(static_lists)) = (regular_lists, static_lists) else {
            return Err(undecided());
        };
        if (regular_lists.len(), static_lists.len()) == (1, 1) {
            return Ok(());
        }
        let mut standing = Vec::new();
        let mut error = None;
        for regular_list in regular_lists {
            for static_list in &static_lists {
                let reading = OpenUpdate {
                    static_list: *static_list,
                    regular_list,
                    ..open
                };
                match self.read_as(&table, reading) {
                    Ok(reading) => standing.push(reading),
                    Err(reason) => error = error.or(Some(reason)),
                }
            }
        }
        let agreeing = standing.iter().filter(|reading| reading.agrees).count();
        // Readings are equivalent if no cell distinguishes them.
        let are_same = standing.iter().all(|reading| !reading.has_cells);
        let chosen = standing.iter().find(|reading| match agreeing {
            0 => standing.len() == 1,
            1 => reading.agrees,
            _ => are_same,
        });
        match chosen {
            Some(reading) => {
                self.open = Some(reading.open);
                Ok(())
            }
            None => Err(match error {
                Some(error) if standing.is_empty() && !error.asks_for_schema() => error,
                _ => undecided(),
            }),
        }
    }

    fn read_as(&mut self, table: &Table, open: OpenUpdate) -> Result<Reading> {
        let Some(left) = self.readings_left.checked_sub(1) else {
            return Err(DecodeError::out_of_range(
                "attempts to decode an update with earlier column types",
                MOST_READINGS,
            ));
        };
        let mut trial = MutationReader {
            decoder: &mut *self.decoder,
            open: Some(open),
            readings_left: left,
            ..*self
        };
        let result = trial.stands(table, open);
        self.readings_left = trial.readings_left;
        result
    }

    fn stands(&mut self, table: &Table, open: OpenUpdate) -> Result<Reading> {
        let mut reading = Reading {
            open,
            agrees: true,
            has_cells: false,
        };
        let mut row = Row::default();
        while let Some(unfiltered) = self.next_unfiltered(&mut row)? {
            if unfiltered == Unfiltered::Row {
                reading.visit(table, &row)?;
            }
        }
        while self.next_update()?.is_some() {}
        Ok(reading)
    }
}

impl Reading {
    fn visit(&mut self, table: &Table, row: &Row<'_>) -> Result<()> {
        for (column, deletion) in &row.complex_deletions {
            self.note(table, *column, deletion.timestamp_us);
        }
        for cell in &row.cells {
            if !self.note(table, cell.column, cell.timestamp_us) {
                continue;
            }
            let Some(column) = table.columns.get(cell.column as usize) else {
                continue;
            };
            let is_value = !matches!(cell.state, CellState::Tombstone(_));
            if is_value && !fits(column, cell.path, cell.value) {
                return Err(DecodeError::out_of_range(
                    "length of a value",
                    cell.value.len() as u64,
                ));
            }
        }
        Ok(())
    }

    /// Checks a write time of a column; returns false if the column has only one version.
    fn note(&mut self, table: &Table, index: u32, time_us: i64) -> bool {
        let Some(column) = table.columns.get(index as usize) else {
            return false;
        };
        let is_version = |other: &&Column| other.is_namesake(column);
        let versions: Vec<_> = table.columns.iter().filter(is_version).collect();
        if versions.len() < 2 {
            return false;
        }
        let histories: Vec<_> = versions.iter().map(|version| &version.history).collect();
        let live = versions.iter().position(|v| v.dropped_at_us.is_none());
        let version = version_at(&histories, live, time_us).and_then(|place| versions.get(place));
        self.has_cells = true;
        self.agrees &= version.is_some_and(|version| std::ptr::eq(*version, column));
        true
    }
}
