//! The definitions of one table by epoch.

use std::sync::Arc;

use crate::schema::Table;

/// The epoch of what was read last in the log, until the next entry gives it a number.
pub(crate) const NOW: i64 = i64::MAX;
/// Definitions kept of one table; updates of older ones are long read.
const KEPT: usize = 64;

/// A table as it was from one epoch to another, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub first: i64,
    pub last: i64,
    pub table: Arc<Table>,
}

/// The known definitions of a table, by epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definitions(Vec<Definition>);

impl Definitions {
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter()
    }

    /// The definition that begins last at an epoch or before it.
    pub fn last_before(&self, epoch: i64) -> Option<&Definition> {
        self.0.iter().rev().find(|known| known.first <= epoch)
    }

    /// The first definition that is known to hold at an epoch or after it.
    pub fn first_after(&self, epoch: i64) -> Option<&Definition> {
        self.0.iter().find(|known| known.last >= epoch)
    }

    /// Adds the definition that a change made.
    pub fn change(&mut self, epoch: i64, table: Arc<Table>) {
        // A source that saw the table later, and knew no better, may have it from an earlier epoch.
        let known = (self.0.iter_mut()).find(|known| known.first <= epoch && epoch <= known.last);
        if let Some(known) = known {
            known.first = epoch;
            known.table = table;
        } else {
            self.insert(Definition {
                first: epoch,
                last: epoch,
                table,
            });
        }
    }

    /// Adds the definition that a source saw at the epoch `last`; since `first` no change is known.
    pub fn observe(&mut self, first: i64, last: i64, table: Arc<Table>) {
        let is_later = |known: &&mut Definition| first <= known.first && known.first <= last;
        if (self.0.iter()).any(|known| known.first <= last && last <= known.last) {
            return;
        }
        if let Some(known) = self.0.iter_mut().rev().find(is_later) {
            known.last = last;
            known.table = table;
        } else {
            self.insert(Definition { first, last, table });
        }
    }

    fn insert(&mut self, definition: Definition) {
        let place = self.0.partition_point(|d| d.first < definition.first);
        self.0.insert(place, definition);
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
    }

    /// Drops what was read last in the log.
    pub fn forget_now(&mut self) {
        self.0.retain(|known| known.first != NOW);
    }

    /// Numbers what was read last in the log.
    pub fn number_now(&mut self, epoch: i64) {
        if self.0.last().is_some_and(|known| known.first == NOW)
            && let Some(now) = self.0.pop()
        {
            self.observe(epoch, epoch, now.table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{TableId, parse_cql};

    fn table(column: &str) -> Arc<Table> {
        let text = format!(
            "CREATE TABLE k.t (p int PRIMARY KEY, {column} int) \
             WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18"
        );
        let id = TableId::parse("5a1c395e-b41f-11e5-9f22-ba0be0483c18").unwrap();
        Arc::clone(parse_cql(&text).unwrap().table(id).unwrap())
    }

    fn bounds(definitions: &Definitions) -> Vec<(i64, i64)> {
        definitions.iter().map(|d| (d.first, d.last)).collect()
    }

    #[test]
    fn definitions_are_found_before_and_after_epoch() {
        let mut known = Definitions::default();
        known.change(9, table("c"));
        known.observe(5, 7, table("b"));
        assert_eq!(known.last_before(4), None);
        assert_eq!(known.last_before(8).unwrap().first, 5);
        assert_eq!(known.first_after(4).unwrap().first, 5);
        assert_eq!(known.first_after(8).unwrap().first, 9);
        assert_eq!(known.first_after(10), None);
    }

    #[test]
    fn latest_definition_is_numbered_later() {
        let mut known = Definitions::default();
        known.change(5, table("b"));
        known.observe(NOW, NOW, table("c"));
        assert_eq!(known.first_after(6).unwrap().first, NOW);
        known.number_now(8);
        assert_eq!(bounds(&known), [(5, 5), (8, 8)]);
        known.observe(NOW, NOW, table("d"));
        known.forget_now();
        assert_eq!(bounds(&known), [(5, 5), (8, 8)]);
    }

    #[test]
    fn equal_definitions_of_several_sources_merge() {
        let mut known = Definitions::default();
        known.change(5, table("b"));
        known.observe(5, 20, table("b"));
        known.observe(18, 20, table("b"));
        assert_eq!(bounds(&known), [(5, 20)]);
        // The log contains a change that the observer did not know.
        known.change(11, table("c"));
        assert_eq!(bounds(&known), [(11, 20)]);
        for epoch in 100..200 {
            known.change(epoch, table("c"));
        }
        assert_eq!(known.iter().count(), KEPT);
    }
}
