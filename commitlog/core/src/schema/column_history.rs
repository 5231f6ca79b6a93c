//! Columns that were dropped and re-added: the times at which each version existed.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{Column, ColumnKind};

/// `system_schema.dropped_columns` stores milliseconds, so a drop includes its whole millisecond.
const DROP_TIME_PRECISION_US: i64 = 999;

/// When a version of a column existed, as far as any source knew. Times are in microseconds on the
/// clocks of schema changes; `i64::MIN` means never.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnHistory {
    /// The first time at which the table was seen with the column, or the write time of its row of
    /// `system_schema.columns`; `i64::MAX` if unknown. If two columns map to the same field name in
    /// a schema, the earlier column gets it.
    pub first_us: i64,
    /// The latest time at which the table was seen with the column.
    pub seen_us: i64,
    /// The latest time at which the table was seen without the column.
    pub gone_us: i64,
    /// All drop times, ascending: `dropped_columns` keeps only the latest.
    pub drops_us: Vec<i64>,
}

impl Default for ColumnHistory {
    fn default() -> Self {
        Self {
            first_us: i64::MAX,
            seen_us: i64::MIN,
            gone_us: i64::MIN,
            drops_us: Vec::new(),
        }
    }
}

/// Only drops are a property of the column; the other times depend on observations.
impl PartialEq for ColumnHistory {
    fn eq(&self, other: &Self) -> bool {
        self.drops_us == other.drops_us
    }
}

impl Eq for ColumnHistory {}

impl ColumnHistory {
    pub(super) fn note_drop(&mut self, time_us: i64) {
        if time_us != i64::MIN && !self.drops_us.contains(&time_us) {
            self.drops_us.push(time_us);
            self.drops_us.sort_unstable();
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.first_us = self.first_us.min(other.first_us);
        self.seen_us = self.seen_us.max(other.seen_us);
        self.gone_us = self.gone_us.max(other.gone_us);
        for time_us in &other.drops_us {
            self.note_drop(*time_us);
        }
    }

    /// Records that the table was seen with the column at a time; 0 means unknown.
    pub(super) fn note_seen(&mut self, time_us: i64) {
        self.seen_us = time_us;
        if time_us > 0 {
            self.first_us = self.first_us.min(time_us);
        }
    }

    /// Whether the latest observation of the table contained the column.
    fn is_there(&self) -> bool {
        self.seen_us > self.gone_us
    }
}

/// Merges entries for the same version of a column; the result is live if one of them is. Versions
/// with different types remain separate.
pub(super) fn fold(columns: &mut Vec<Column>) {
    let mut folded: Vec<Column> = Vec::with_capacity(columns.len());
    for mut column in columns.drain(..) {
        column
            .history
            .note_drop(column.dropped_at_us.unwrap_or(i64::MIN));
        match folded.iter_mut().find(|other| other.is_same(&column)) {
            Some(other) => {
                other.history.join(&column.history);
                other.dropped_at_us = match (other.dropped_at_us, column.dropped_at_us) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    _ => None,
                };
            }
            None => folded.push(column),
        }
    }
    *columns = folded;
}

/// Records an observation of the whole table at a time.
pub(super) fn observe(columns: &mut [Column], time_us: i64) {
    for column in columns {
        if column.dropped_at_us.is_none() {
            column.history.note_seen(time_us);
        } else {
            column.history.gone_us = time_us;
        }
    }
}

/// Marks columns as live or dropped by their histories: for each name, only the version that was
/// seen latest can be live.
pub(super) fn derive_drops(columns: &mut [Column]) {
    let last_seen: Vec<i64> = columns
        .iter()
        .map(|column| {
            let namesakes = columns.iter().filter(|other| other.is_namesake(column));
            let last = namesakes.map(|other| other.history.seen_us).max();
            last.unwrap_or(i64::MIN)
        })
        .collect();
    for (column, last_seen_us) in columns.iter_mut().zip(last_seen) {
        let history = &column.history;
        let is_live = history.is_there() && history.seen_us == last_seen_us;
        column.dropped_at_us = if is_live {
            None
        } else {
            Some(history.drops_us.last().copied().unwrap_or(i64::MIN))
        };
    }
}

/// Sorts columns into the order of [`super::Table::columns`].
pub(super) fn sort(columns: &mut [Column]) {
    columns.sort_by(|a, b| {
        let rank = |c: &Column| (c.dropped_at_us.is_some(), c.kind == ColumnKind::Static);
        let age = |c: &Column| Reverse((c.dropped_at_us, c.history.seen_us));
        rank(a)
            .cmp(&rank(b))
            .then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()))
            .then_with(|| age(a).cmp(&age(b)))
    });
}

/// Returns the version of a column that existed at a write time.
///
/// A drop ends a version, and a version existed when it was seen (0 means unknown). After the last
/// drop, the live version exists. Between an observation of one version and the next news of a
/// different version, the result is `None`. It is also `None` without any times. The result and
/// `live`, the current version, are indexes into `versions`.
pub fn version_at(versions: &[&ColumnHistory], live: Option<usize>, time_us: i64) -> Option<usize> {
    struct News {
        time_us: i64,
        version: usize,
        is_drop: bool,
    }
    let mut news = Vec::new();
    for (version, history) in versions.iter().enumerate() {
        let drops = history.drops_us.iter().map(|drop_us| News {
            time_us: drop_us.saturating_add(DROP_TIME_PRECISION_US),
            version,
            is_drop: true,
        });
        news.extend(drops);
        if history.seen_us > 0 {
            news.push(News {
                time_us: history.seen_us,
                version,
                is_drop: false,
            });
        }
    }
    news.sort_by_key(|news| news.time_us);
    let next = news.iter().find(|news| news.time_us >= time_us);
    let last = news.iter().rev().find(|news| news.time_us < time_us);
    match (last, next) {
        (_, Some(next))
            if next.time_us == time_us
                || last.is_none_or(|last| last.is_drop || last.version == next.version) =>
        {
            Some(next.version)
        }
        // A write may lose a race against the drop of the last version.
        (Some(last), None) if last.is_drop => live.or(Some(last.version)),
        (Some(last), None) if live.is_none_or(|live| live == last.version) => Some(last.version),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(seen_us: i64, drops_us: &[i64]) -> ColumnHistory {
        ColumnHistory {
            first_us: seen_us,
            seen_us,
            gone_us: i64::MIN,
            drops_us: drops_us.to_vec(),
        }
    }

    fn place(versions: &[ColumnHistory], time_us: i64) -> Option<usize> {
        version_at(&versions.iter().collect::<Vec<_>>(), Some(0), time_us)
    }

    #[test]
    fn drop_ends_column_version() {
        let versions = [history(9_000_000, &[]), history(i64::MIN, &[5_000_000])];
        assert_eq!(place(&versions, i64::MIN), Some(1));
        assert_eq!(place(&versions, 5_000_000), Some(1));
        assert_eq!(place(&versions, 5_000_999), Some(1));
        assert_eq!(place(&versions, 5_001_000), Some(0));
        assert_eq!(place(&versions, i64::MAX), Some(0));
    }

    #[test]
    fn current_version_follows_last_drop() {
        let versions = [history(0, &[]), history(i64::MIN, &[5_000_000])];
        assert_eq!(place(&versions, 5_000_999), Some(1));
        assert_eq!(place(&versions, 5_001_000), Some(0));
        let histories: Vec<_> = versions.iter().collect();
        assert_eq!(version_at(&histories, None, 6_000_000), Some(1));
    }

    #[test]
    fn same_type_may_return() {
        let versions = [history(90_000, &[10_000]), history(i64::MIN, &[50_000])];
        assert_eq!(place(&versions, 9_000), Some(0));
        assert_eq!(place(&versions, 20_000), Some(1));
        assert_eq!(place(&versions, 60_000), Some(0));
    }

    #[test]
    fn version_between_sightings_is_unknown() {
        let versions = [history(90_000, &[]), history(10_000, &[])];
        assert_eq!(place(&versions, 10_000), Some(1));
        assert_eq!(place(&versions, 20_000), None);
        assert_eq!(place(&versions, 90_000), Some(0));
        assert_eq!(place(&versions, 100_000), Some(0));
        assert_eq!(place(&[history(i64::MIN, &[])], 1), None);
    }
}
