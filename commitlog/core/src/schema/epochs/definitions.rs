//! The definitions of one table by epoch.

use std::sync::Arc;

use crate::schema::Table;

/// The epoch of definitions without an entry in the log, until the next entry determines it.
pub(crate) const NOW: i64 = i64::MAX;
/// Maximum number of definitions of one table; updates that need older ones were read long ago.
const KEPT: usize = 64;

/// A table's definition from the epoch `first` to `last`, inclusive.
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

    /// Returns the latest definition that begins at or before an epoch.
    pub fn last_before(&self, epoch: i64) -> Option<&Definition> {
        self.0.iter().rev().find(|known| known.first <= epoch)
    }

    /// Returns the earliest definition that is known to hold at or after an epoch.
    pub fn first_after(&self, epoch: i64) -> Option<&Definition> {
        self.0.iter().find(|known| known.last >= epoch)
    }

    /// Adds the definition that results from a change.
    pub fn change(&mut self, epoch: i64, table: Arc<Table>) {
        // A source that did not know this change may have dated its result to an earlier epoch.
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

    /// Adds the definition that a source saw at the epoch `last`; no change since `first` is known.
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

    /// Removes the definition that has no epoch yet.
    pub fn forget_now(&mut self) {
        self.0.retain(|known| known.first != NOW);
    }

    /// Assigns an epoch to the definition that has none yet.
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
