//! Changes from a log with epochs (version 9): finds the epoch of a change, the resulting
//! definitions, and their order among changes timed by other clocks.
//!
//! A node logs the entry of a schema change, then its rows, then the first write that needs it.
//! When it starts, it logs the rows of its whole schema again, without an entry.

mod evolution;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use super::change::SchemaChange;
use super::epochs::{Epochs, NOW, TypeDefinition};
use super::{Schema, Table, TableId};

/// `Epoch.EMPTY`: before every change.
const BEFORE_ALL: i64 = 0;

impl Schema {
    /// Returns this schema after changes in the log. They may be old or already known: the latest
    /// change counts, by epoch if the log has epochs, otherwise by write time.
    #[must_use]
    pub fn with_changes<'c>(&self, changes: impl IntoIterator<Item = &'c SchemaChange>) -> Self {
        let mut schema = self.clone();
        for change in changes {
            schema.take(change);
        }
        schema
    }

    fn take(&mut self, change: &SchemaChange) {
        if let Some(entry) = &change.entry {
            self.epochs.begin(entry);
            return;
        }
        if !change.has_epochs {
            self.apply(change);
            return;
        }
        if change.is_unreadable {
            self.epochs.lose_place();
            return;
        }
        let creates = self.whole_tables(change, NOW).next().is_some();
        let epoch = self.epochs.take_epoch(&change.keyspace, creates);
        let order = match epoch {
            NOW => self.epochs.last.unwrap_or(BEFORE_ALL),
            _ => epoch,
        };
        let ordered = self.in_order(change, order);
        self.apply(&ordered);
        self.define(change, epoch);
    }

    /// Shifts the write times of a change so that they match its epoch: after earlier epochs and
    /// before later epochs.
    fn in_order<'c>(&mut self, change: &'c SchemaChange, epoch: i64) -> Cow<'c, SchemaChange> {
        let mut ordered = Cow::Borrowed(change);
        for name in change.names() {
            let Some(id) = self.id_of(change, name) else {
                continue;
            };
            let newest = self.epochs.note_newest(id, epoch);
            let (Some(newest), Some(known)) = (newest, self.known(id)) else {
                continue;
            };
            let time_us = change.time_of(name).unwrap_or(i64::MIN);
            let shift_us = shift_us(known, newest, epoch, time_us);
            if shift_us != 0 {
                ordered.to_mut().shift(name, shift_us);
            }
        }
        ordered
    }

    /// Shifts the times of a table from another source so that they match its epoch.
    pub(super) fn in_order_of(&self, table: &Arc<Table>, epochs: &Epochs) -> Arc<Table> {
        let newest = self.epochs.newest.get(&table.id);
        let epoch = epochs.newest.get(&table.id);
        let (Some(newest), Some(epoch), Some(known)) = (newest, epoch, self.known(table.id)) else {
            return Arc::clone(table);
        };
        match shift_us(known, *newest, *epoch, table.observed.as_of_us) {
            0 => Arc::clone(table),
            shift_us => {
                let mut table = (**table).clone();
                let time_us = table.observed.as_of_us.saturating_add(shift_us);
                table.observe(time_us, 0);
                Arc::new(table)
            }
        }
    }

    /// Returns this schema as a source saw it at an epoch. `changed_at` returns the latest epoch at
    /// which a table may have changed, as far as the source knows.
    #[must_use]
    pub fn seen_at_epoch(&self, epoch: i64, changed_at: impl Fn(&Table) -> i64) -> Self {
        let mut schema = self.clone();
        for (id, table) in &self.tables {
            let first = changed_at(table).min(epoch);
            schema.epochs.note_newest(*id, epoch);
            let definition = Arc::new(evolution::definition(table));
            schema.epochs.observe(first, epoch, definition);
        }
        for (keyspace, name, version) in self.types.iter() {
            let fields = version.fields.clone();
            schema
                .epochs
                .add_type(keyspace, name, TypeDefinition { epoch, fields });
        }
        schema
    }

    /// Returns the table for decoding an update: its definition at the epoch if that is known,
    /// otherwise everything known about the table.
    pub fn table_at(&self, id: TableId, epoch: Option<i64>) -> Option<Arc<Table>> {
        let known = self.table(id);
        let definition = epoch.and_then(|epoch| {
            let following = || {
                // If a column had several types, the later definition may have the wrong type.
                let definition = self.epochs.following(id, epoch)?;
                let has_versions = known.is_some_and(|table| table.has_versions());
                (!has_versions).then_some(definition)
            };
            self.epochs.certain(id, epoch).or_else(following)
        });
        match (definition, known) {
            (Some(definition), Some(known)) => {
                let table = evolution::with_other_columns(definition, known);
                Some(if table == **known {
                    Arc::clone(known)
                } else {
                    Arc::new(table)
                })
            }
            (definition, known) => definition.or(known).map(Arc::clone),
        }
    }

    /// Stores the definitions that result from a change.
    fn define(&mut self, change: &SchemaChange, epoch: i64) {
        self.define_types(change, epoch);
        let types = self.epochs.types_at(&change.keyspace, epoch);
        let whole: Vec<Table> = self.whole_tables(change, epoch).collect();
        for name in change.names() {
            if let Some(table) = whole.iter().find(|table| table.name == name) {
                let table = Arc::new(evolution::definition(table));
                self.keep(table, epoch);
                continue;
            }
            let Some(id) = self.id_of(change, name) else {
                continue;
            };
            let before = match epoch {
                NOW => None,
                _ => self.epochs.certain(id, epoch.saturating_sub(1)),
            };
            match before.and_then(|before| evolution::evolve(before, change, name, &types)) {
                Some(table) => self.epochs.change(epoch, Arc::new(table.bounded())),
                None => self.epochs.lose(id, epoch),
            }
        }
        if epoch != NOW && !change.types.is_empty() {
            let tables: Vec<_> = self.epochs.tables.keys().copied().collect();
            for id in tables {
                let before = self.epochs.certain(id, epoch);
                let before = before.filter(|table| table.keyspace == change.keyspace);
                if let Some(table) = before.and_then(|table| evolution::retype(table, &types)) {
                    self.epochs.change(epoch, Arc::new(table.bounded()));
                }
            }
        }
    }

    fn keep(&mut self, table: Arc<Table>, epoch: i64) {
        if epoch != NOW {
            self.epochs.change(epoch, table);
            return;
        }
        let last = self.epochs.last;
        let known = last.and_then(|last| self.epochs.certain(table.id, last));
        if known.is_none_or(|known| *known != table) {
            self.epochs.observe(NOW, NOW, table);
        }
    }

    fn define_types(&mut self, change: &SchemaChange, epoch: i64) {
        for (_, row) in &change.types {
            if let Ok(fields) = row.fields() {
                let definition = TypeDefinition { epoch, fields };
                self.epochs
                    .add_type(&change.keyspace, &row.type_name, definition);
            }
        }
    }

    /// Returns the tables that a change defines completely.
    fn whole_tables<'c>(
        &self,
        change: &'c SchemaChange,
        epoch: i64,
    ) -> impl Iterator<Item = Table> + use<'c> {
        let types = self.epochs.types_at(&change.keyspace, epoch);
        let rows = change.tables.iter();
        rows.filter_map(move |row| change.whole_table(row, &types))
    }

    fn id_of(&self, change: &SchemaChange, name: &str) -> Option<TableId> {
        match change.row_of(name) {
            Some((_, row)) => TableId::parse(&row.id),
            None => self.only_table_of_name(&change.keyspace, name),
        }
    }

    pub(super) fn known(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id).or_else(|| self.fragments.get(&id))
    }
}

/// Returns the shift that makes a table's time at an epoch agree with the order of epochs.
fn shift_us(known: &Table, newest: i64, epoch: i64, time_us: i64) -> i64 {
    let (first_us, last_us) = known.times_us();
    if epoch >= newest && time_us <= last_us {
        last_us.saturating_add(1).saturating_sub(time_us)
    } else if epoch < newest && time_us >= first_us {
        first_us.saturating_sub(1).saturating_sub(time_us)
    } else {
        0
    }
}
