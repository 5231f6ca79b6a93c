//! The JSON form of [`Epochs`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoredTable;
use crate::schema::epochs::{Awaited, Epochs, TypeDefinition};
use crate::schema::type_name::expression;
use crate::schema::{Result, TableId};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredEpochs {
    last: Option<i64>,
    awaited: Option<StoredAwaited>,
    ranges: Vec<(i64, i64)>,
    newest: Vec<(String, i64)>,
    definitions: Vec<StoredDefinition>,
    types: Vec<StoredTypeDefinition>,
}

#[derive(Serialize, Deserialize)]
struct StoredAwaited {
    keyspace: Option<String>,
    creates: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredDefinition {
    from: i64,
    to: i64,
    table: StoredTable,
}

#[derive(Serialize, Deserialize)]
struct StoredTypeDefinition {
    keyspace: String,
    name: String,
    epoch: i64,
    fields: Vec<(String, String)>,
}

impl StoredEpochs {
    /// Returns `None` if nothing is known, as for every release before 6.0.
    pub fn from_epochs(epochs: &Epochs) -> Option<Self> {
        if *epochs == Epochs::default() {
            return None;
        }
        let mut newest: Vec<_> = (epochs.newest.iter())
            .map(|(id, epoch)| (id.to_string(), *epoch))
            .collect();
        newest.sort_unstable();
        let mut tables: Vec<_> = epochs.tables.iter().collect();
        tables.sort_by_key(|(id, _)| **id);
        let definitions = tables.into_iter().flat_map(|(_, known)| known.iter());
        let mut types: Vec<_> = epochs.types.iter().collect();
        types.sort_by_key(|(key, _)| *key);
        let types = types.into_iter().flat_map(|((keyspace, name), versions)| {
            versions.iter().map(move |version| StoredTypeDefinition {
                keyspace: keyspace.clone(),
                name: name.clone(),
                epoch: version.epoch,
                fields: (version.fields.iter())
                    .map(|(name, expression)| (name.clone(), expression.to_string()))
                    .collect(),
            })
        });
        Some(Self {
            last: epochs.last,
            awaited: epochs.awaited.as_ref().map(|awaited| StoredAwaited {
                keyspace: awaited.keyspace.clone(),
                creates: awaited.creates,
            }),
            ranges: epochs.ranges.clone(),
            newest,
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
            awaited: self.awaited.map(|awaited| Awaited {
                keyspace: awaited.keyspace,
                creates: awaited.creates,
            }),
            ranges: self.ranges,
            newest: newest.collect(),
            ..Epochs::default()
        };
        for known in self.definitions {
            epochs.observe(known.from, known.to, Arc::new(known.table.table()?));
        }
        for version in self.types {
            let fields = version.fields.into_iter();
            let fields = fields.map(|(name, text)| Ok((name, expression(&text)?)));
            let definition = TypeDefinition {
                epoch: version.epoch,
                fields: fields.collect::<Result<_>>()?,
            };
            epochs.add_type(&version.keyspace, &version.name, definition);
        }
        Ok(epochs)
    }
}
