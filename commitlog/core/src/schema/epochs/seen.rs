//! Schema history by epoch: the definitions of tables and user types, and the entries of the
//! metadata log that were read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::definitions::{Definition, Definitions, NOW};
use super::entry::{EntryContent, MetadataLogEntry};
use crate::schema::type_expression::TypeExpression;
use crate::schema::type_name::{UserTypeDeclaration, UserTypes};
use crate::schema::{Table, TableId};

/// Maximum number of definitions of one user type.
const KEPT_TYPES: usize = 64;
/// Maximum number of ranges of read entries; unread entries separate ranges.
const KEPT_RANGES: usize = 64;

/// A user type's definition since an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TypeDefinition {
    pub epoch: i64,
    pub fields: Vec<(String, TypeExpression)>,
}

/// An entry whose rows come next in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Awaited {
    /// `None` means any keyspace.
    pub keyspace: Option<String>,
    /// Whether the rows may belong to a new table.
    pub creates: bool,
}

impl Awaited {
    fn from_entry(entry: &MetadataLogEntry) -> Option<Self> {
        match &entry.content {
            EntryContent::Schema(statement) => Some(Self {
                keyspace: statement.keyspace.clone(),
                creates: statement
                    .cql
                    .trim_start()
                    .get(..6)
                    .is_some_and(|word| word.eq_ignore_ascii_case("create")),
            }),
            EntryContent::Unreadable { .. } => Some(Self {
                keyspace: None,
                creates: true,
            }),
            EntryContent::Other { .. } => None,
        }
    }
}

/// Definitions and read entries by epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Epochs {
    /// The epoch of the latest entry.
    pub last: Option<i64>,
    /// The statement of that entry, until its rows follow.
    pub awaited: Option<Awaited>,
    /// First and last epoch of each run of consecutive entries that were read.
    pub ranges: Vec<(i64, i64)>,
    /// The newest epoch with information about each table.
    pub newest: BTreeMap<TableId, i64>,
    pub tables: BTreeMap<TableId, Definitions>,
    /// By keyspace and name, in epoch order.
    pub types: BTreeMap<(String, String), Vec<TypeDefinition>>,
}

impl Epochs {
    /// Applies an entry. Definitions that were read without an entry get the epoch before it.
    pub fn begin(&mut self, entry: &MetadataLogEntry) {
        let epoch = entry.epoch;
        let before = epoch.saturating_sub(1);
        for definitions in self.tables.values_mut() {
            definitions.number_now(before);
        }
        for versions in self.types.values_mut() {
            if let Some(last) = versions.last_mut()
                && last.epoch == NOW
            {
                let definition = TypeDefinition {
                    epoch: before,
                    fields: std::mem::take(&mut last.fields),
                };
                versions.pop();
                add_type(versions, definition);
            }
        }
        self.last = Some(epoch);
        self.awaited = Awaited::from_entry(entry);
        self.note(epoch, epoch);
    }

    /// Returns the epoch of a keyspace's next rows in the log: the epoch of the entry before them,
    /// or [`NOW`]. `creates` means that they define a whole table, as when a node starts.
    pub fn take_epoch(&mut self, keyspace: &str, creates: bool) -> i64 {
        let belongs = |awaited: &Awaited| {
            (awaited.keyspace.as_deref()).is_none_or(|awaited| awaited == keyspace)
                && (awaited.creates || !creates)
        };
        let awaited = self.awaited.take().filter(belongs);
        let epoch = self.last.filter(|_| awaited.is_some());
        epoch.unwrap_or(NOW)
    }

    /// Records that all entries of a range were read.
    fn note(&mut self, first: i64, last: i64) {
        self.ranges.push((first, last));
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|later, earlier| {
            let touches = later.0 <= earlier.1.saturating_add(1);
            if touches {
                earlier.1 = earlier.1.max(later.1);
            }
            touches
        });
        if self.ranges.len() > KEPT_RANGES {
            self.ranges.remove(0);
        }
    }

    /// Records rows of a table that cannot be read: earlier definitions end before their epoch.
    pub fn lose(&mut self, id: TableId, epoch: i64) {
        if let Some(definitions) = self.tables.get_mut(&id) {
            definitions.forget_now();
        }
        if epoch != NOW {
            self.forget(epoch);
        }
    }

    /// Records unreadable bytes in the log: no definition is certain beyond the latest entry, or at
    /// it if its rows are still awaited.
    pub fn lose_place(&mut self) {
        let is_awaiting = self.awaited.take().is_some();
        for definitions in self.tables.values_mut() {
            definitions.forget_now();
        }
        if let Some(last) = self.last.filter(|_| is_awaiting) {
            self.forget(last);
        }
    }

    /// Marks an entry as unread, so that no earlier definition is certain at it or beyond it.
    fn forget(&mut self, epoch: i64) {
        let ranges = std::mem::take(&mut self.ranges);
        for (first, last) in ranges {
            if first < epoch {
                self.ranges.push((first, last.min(epoch - 1)));
            }
            if last > epoch {
                self.ranges.push((first.max(epoch + 1), last));
            }
        }
    }

    /// Returns the definition of a table at an epoch if it is certain: it is known at that epoch,
    /// or at an earlier epoch and all entries since then were read.
    pub fn certain(&self, id: TableId, epoch: i64) -> Option<&Arc<Table>> {
        let known = self.tables.get(&id)?.last_before(epoch)?;
        let next = known.last.saturating_add(1);
        let is_read = |range: &(i64, i64)| range.0 <= next && epoch <= range.1;
        let is_certain = epoch <= known.last || epoch != NOW && self.ranges.iter().any(is_read);
        is_certain.then_some(&known.table)
    }

    /// Returns the earliest definition of a table that is known to hold at or after an epoch.
    pub fn following(&self, id: TableId, epoch: i64) -> Option<&Arc<Table>> {
        Some(&self.tables.get(&id)?.first_after(epoch)?.table)
    }

    /// Adds the definition that results from a change at an epoch.
    pub fn change(&mut self, epoch: i64, table: Arc<Table>) {
        let definitions = self.tables.entry(table.id).or_default();
        definitions.change(epoch, table);
    }

    /// Adds the definition that a source saw at the epoch `last`; no change since `first` is known.
    pub fn observe(&mut self, first: i64, last: i64, table: Arc<Table>) {
        let definitions = self.tables.entry(table.id).or_default();
        definitions.observe(first, last, table);
    }

    pub fn add_type(&mut self, keyspace: &str, name: &str, definition: TypeDefinition) {
        let key = (keyspace.to_owned(), name.to_owned());
        add_type(self.types.entry(key).or_default(), definition);
    }

    /// Returns the user types of a keyspace at an epoch, except those that cannot be resolved.
    pub fn types_at(&self, keyspace: &str, epoch: i64) -> UserTypes {
        let versions = self.types.iter().filter(|((k, _), _)| k == keyspace);
        let declarations = versions.filter_map(|((keyspace, name), versions)| {
            let version = versions.iter().rev().find(|v| v.epoch <= epoch)?;
            Some(UserTypeDeclaration {
                keyspace: keyspace.clone(),
                name: name.clone(),
                fields: version.fields.clone(),
            })
        });
        UserTypes::resolve_what_can_be(declarations.collect())
    }

    /// Records an epoch with information about a table; returns the newest epoch before that.
    pub fn note_newest(&mut self, id: TableId, epoch: i64) -> Option<i64> {
        let newest = self.newest.entry(id).or_insert(i64::MIN);
        let before = *newest;
        *newest = before.max(epoch);
        (before != i64::MIN).then_some(before)
    }

    /// Adds the history from another source.
    pub fn join(&mut self, other: &Self) {
        if self.last.is_none() {
            self.last = other.last;
            self.awaited.clone_from(&other.awaited);
        }
        for (first, last) in &other.ranges {
            self.note(*first, *last);
        }
        for (id, definitions) in &other.tables {
            let known = self.tables.entry(*id).or_default();
            for definition in definitions.iter() {
                let Definition { first, last, table } = definition.clone();
                known.observe(first, last, table);
            }
        }
        for ((keyspace, name), versions) in &other.types {
            for version in versions {
                self.add_type(keyspace, name, version.clone());
            }
        }
        for (id, epoch) in &other.newest {
            self.note_newest(*id, *epoch);
        }
    }

    /// Removes a table.
    pub fn remove(&mut self, id: TableId) {
        self.tables.remove(&id);
        self.newest.remove(&id);
    }
}

fn add_type(versions: &mut Vec<TypeDefinition>, definition: TypeDefinition) {
    match versions.binary_search_by_key(&definition.epoch, |v| v.epoch) {
        Ok(place) => {
            if let Some(known) = versions.get_mut(place) {
                *known = definition;
            }
        }
        Err(place) => versions.insert(place, definition),
    }
    if versions.len() > KEPT_TYPES {
        versions.remove(0);
    }
}
