//! Joins what several sources knew about a table at different times.
//!
//! Joining is commutative, associative and idempotent, so the order of a node, a file and the log
//! does not matter. The latest value of each attribute counts, and every column version that was
//! ever seen stays.

use std::sync::Arc;

use super::column_history::{derive_drops, sort};
use super::type_versions::{grow, is_same, join_types};
use super::{Column, Observed, Table};
use crate::cql_type::UserType;

impl Column {
    /// Whether both are the same version of a column.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_namesake(other)
            && self.multi_cell == other.multi_cell
            && is_same(&self.cql_type, &other.cql_type)
    }

    /// Whether both are versions of the same column.
    pub fn is_namesake(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name == other.name
    }

    fn join(&mut self, other: &Self) {
        let is_newer = self.history.seen_us >= other.history.seen_us;
        self.cql_type = if is_newer {
            join_types(&self.cql_type, &other.cql_type)
        } else {
            join_types(&other.cql_type, &self.cql_type)
        };
        self.history.join(&other.history);
    }
}

impl Table {
    /// Whether the key columns are known; without them, the table cannot be read.
    pub(super) fn is_whole(&self) -> bool {
        !self.partition_key.is_empty()
    }

    /// Records that the whole table was seen in this state at a time. A change that is up to
    /// `clock_error_us` older still counts as newer.
    pub(super) fn observe(&mut self, time_us: i64, clock_error_us: i64) {
        self.observed = Observed {
            as_of_us: time_us.saturating_sub(clock_error_us),
            whole_us: time_us,
            changed_us: self.observed.changed_us,
        };
        for column in self.partition_key.iter_mut().chain(&mut self.clustering) {
            column.history.note_seen(time_us);
        }
        super::column_history::observe(&mut self.columns, time_us);
    }

    /// Returns the time of the table's state, and the latest time of any information about it.
    pub(super) fn times_us(&self) -> (i64, i64) {
        let histories = self.all_columns().map(|column| &column.history);
        let seen = histories.map(|history| history.seen_us.max(history.gone_us));
        let last_us = seen.max().unwrap_or(i64::MIN);
        let Observed {
            as_of_us, whole_us, ..
        } = self.observed;
        (as_of_us, last_us.max(as_of_us).max(whole_us))
    }

    /// Joins both tables. If they were seen at the same time, `other` counts as newer.
    pub(super) fn join(&self, other: &Self) -> Self {
        let (older, newer) = if self.observed.as_of_us > other.observed.as_of_us {
            (other, self)
        } else {
            (self, other)
        };
        let mut table = newer.clone();
        table.observed.whole_us = older.observed.whole_us.max(newer.observed.whole_us);
        table.observed.changed_us = older.observed.changed_us.max(newer.observed.changed_us);
        join_key(&mut table.partition_key, &older.partition_key);
        join_key(&mut table.clustering, &older.clustering);
        for column in &mut table.columns {
            if !older.columns.iter().any(|known| known.is_same(column)) {
                let gone_us = column.history.gone_us.max(older.observed.whole_us);
                // The newer table wins a tie.
                let is_tie = gone_us == column.history.seen_us;
                column.history.gone_us = gone_us.saturating_sub(i64::from(is_tie));
            }
        }
        for column in &older.columns {
            let mut known = table.columns.iter_mut();
            if let Some(known) = known.find(|known| known.is_same(column)) {
                known.join(column);
            } else {
                let mut column = column.clone();
                let gone_us = newer.observed.whole_us.max(column.history.gone_us);
                column.history.gone_us = gone_us;
                table.columns.push(column);
            }
        }
        derive_drops(&mut table.columns);
        sort(&mut table.columns);
        table
    }

    /// Returns this table with the user types in `definitions`, or `None` if nothing changes.
    pub(super) fn grow(&self, definitions: &[Arc<UserType>]) -> Option<Self> {
        let mut table = self.clone();
        for column in table.all_columns_mut() {
            column.cql_type = grow(&column.cql_type, definitions);
        }
        (table != *self).then_some(table)
    }

    /// Renames a key column that was seen with a different name at a time.
    pub(super) fn rename_key(&mut self, position: usize, renamed: &Column, time_us: i64) {
        let key = match renamed.kind {
            super::ColumnKind::PartitionKey => &mut self.partition_key,
            _ => &mut self.clustering,
        };
        if let Some(column) = key.get_mut(position)
            && column.history.seen_us <= time_us
        {
            if column.name != renamed.name {
                column.name.clone_from(&renamed.name);
                column.history.first_us = i64::MAX;
            }
            column.history.note_seen(time_us);
        }
    }
}

fn join_key(columns: &mut Vec<Column>, others: &[Column]) {
    if columns.is_empty() {
        columns.extend_from_slice(others);
        return;
    }
    for (column, other) in columns.iter_mut().zip(others) {
        let is_newer = other.history.seen_us > column.history.seen_us;
        // A new name is as old as the rename.
        let first_us = match (column.name == other.name, is_newer) {
            (true, _) => column.history.first_us.min(other.history.first_us),
            (false, true) => other.history.first_us,
            (false, false) => column.history.first_us,
        };
        if is_newer {
            column.name.clone_from(&other.name);
        }
        column.join(other);
        column.history.first_us = first_us;
    }
}
