//! The JSON form of [`Epochs`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{StoredTable, StoredType};
use crate::schema::epochs::{Awaited, Definitions, Epochs, TypeDefinition};
use crate::schema::{Result, TableId};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredEpochs {
    last: Option<i64>,
    awaited: Option<Awaited>,
    ranges: Vec<(i64, i64)>,
    newest: Vec<(String, i64)>,
    definitions: Vec<StoredDefinition>,
    types: Vec<StoredType<TypeDefinition>>,
}

#[derive(Serialize, Deserialize)]
struct StoredDefinition {
    from: i64,
    to: i64,
    table: StoredTable,
}

impl StoredEpochs {
    /// Returns `None` if nothing is known, as for every release before 6.0.
    pub fn from_epochs(epochs: &Epochs) -> Option<Self> {
        if *epochs == Epochs::default() {
            return None;
        }
        let newest = epochs.newest.iter();
        let definitions = epochs.tables.values().flat_map(Definitions::iter);
        let types = epochs
            .types
            .iter()
            .flat_map(|((keyspace, name), versions)| {
                let versions = versions.iter().cloned();
                versions.map(move |version| StoredType::new(keyspace, name, version))
            });
        Some(Self {
            last: epochs.last,
            awaited: epochs.awaited.clone(),
            ranges: epochs.ranges.clone(),
            newest: newest.map(|(id, epoch)| (id.to_string(), *epoch)).collect(),
            definitions: definitions
                .map(|known| StoredDefinition {
                    from: known.first,
                    to: known.last,
                    table: StoredTable::from_table(&known.table),
                })
                .collect(),
            types: types.collect(),
        })
    }

    pub fn epochs(self) -> Result<Epochs> {
        let newest = self.newest.iter();
        let newest = newest.filter_map(|(id, epoch)| Some((TableId::parse(id)?, *epoch)));
        let mut epochs = Epochs {
            last: self.last,
            awaited: self.awaited,
            ranges: self.ranges,
            newest: newest.collect(),
            ..Epochs::default()
        };
        for known in self.definitions {
            epochs.observe(known.from, known.to, Arc::new(known.table.table()?));
        }
        for stored in self.types {
            epochs.add_type(&stored.keyspace, &stored.name, stored.version);
        }
        Ok(epochs)
    }
}
