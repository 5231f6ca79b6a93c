//! A schema with its history as JSON, for the reader's next start.

mod epochs;

use serde::{Deserialize, Serialize};

use epochs::StoredEpochs;

use super::type_name::expression;
use super::type_versions::TypeVersion;
use super::{
    Column, ColumnHistory, ColumnKind, Observed, Result, Schema, SchemaError, Table, TableId,
    TableKind, UserTypes, marshal_name, parse_type,
};

const REVERSED: &str = "org.apache.cassandra.db.marshal.ReversedType(";

#[derive(Serialize, Deserialize)]
struct StoredSchema {
    tables: Vec<StoredTable>,
    types: Vec<StoredType>,
    /// Absent before Cassandra 6.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epochs: Option<StoredEpochs>,
}

#[derive(Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the stored form has a member for each property"
)]
struct StoredTable {
    id: String,
    keyspace: String,
    name: String,
    is_view: bool,
    cdc: bool,
    counter: bool,
    dense: bool,
    as_of_us: i64,
    whole_us: i64,
    changed_us: i64,
    partition_key: Vec<StoredColumn>,
    clustering: Vec<StoredColumn>,
    #[serde(rename = "static")]
    static_columns: Vec<StoredColumn>,
    regular: Vec<StoredColumn>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    /// The full name of Cassandra's class, including all fields of user types.
    class: String,
    dropped_at_us: Option<i64>,
    first_us: i64,
    seen_us: i64,
    gone_us: i64,
    drops_us: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
struct StoredType {
    keyspace: String,
    name: String,
    first_us: i64,
    last_us: i64,
    fields: Vec<(String, String)>,
}

impl Schema {
    /// Serializes the schema as JSON for [`Schema::from_stored`].
    pub fn to_stored(&self) -> String {
        let mut tables: Vec<_> = self
            .tables
            .values()
            .chain(self.fragments.values())
            .collect();
        tables.sort_by_key(|table| table.id);
        let types = self
            .types
            .iter()
            .map(|(keyspace, name, version)| StoredType {
                keyspace: keyspace.to_owned(),
                name: name.to_owned(),
                first_us: version.first_us,
                last_us: version.last_us,
                fields: (version.fields.iter())
                    .map(|(name, expression)| (name.clone(), expression.to_string()))
                    .collect(),
            });
        let mut types: Vec<_> = types.collect();
        types.sort_by(|a, b| {
            let key = |t: &StoredType| (t.keyspace.clone(), t.name.clone(), t.last_us);
            key(a).cmp(&key(b))
        });
        let stored = StoredSchema {
            tables: tables
                .into_iter()
                .map(|table| StoredTable::from_table(table))
                .collect(),
            types,
            epochs: StoredEpochs::from_epochs(&self.epochs),
        };
        // Texts and numbers can always be serialized.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads the output of [`Schema::to_stored`].
    ///
    /// # Errors
    /// [`SchemaError`] for any other input.
    pub fn from_stored(json: &[u8]) -> Result<Self> {
        let stored: StoredSchema =
            serde_json::from_slice(json).map_err(|error| SchemaError::Syntax {
                line: error.line(),
                reason: error.to_string(),
            })?;
        let mut schema = Self::default();
        for stored in stored.types {
            let fields = stored
                .fields
                .into_iter()
                .map(|(name, text)| Ok((name, expression(&text)?)));
            let version = TypeVersion {
                first_us: stored.first_us,
                last_us: stored.last_us,
                fields: fields.collect::<Result<_>>()?,
            };
            schema.types.add(&stored.keyspace, &stored.name, version);
        }
        for stored in &stored.tables {
            schema.insert(&stored.table()?.into());
        }
        if let Some(stored) = stored.epochs {
            schema.epochs = stored.epochs()?;
        }
        Ok(schema)
    }
}

impl StoredTable {
    fn from_table(table: &Table) -> Self {
        let columns = |columns: &[Column]| columns.iter().map(StoredColumn::from_column).collect();
        let of_kind = |kind: ColumnKind| {
            let columns = table.columns.iter().filter(|column| column.kind == kind);
            columns.map(StoredColumn::from_column).collect()
        };
        Self {
            id: table.id.to_string(),
            keyspace: table.keyspace.clone(),
            name: table.name.clone(),
            is_view: table.kind == TableKind::View,
            cdc: table.cdc,
            counter: table.counter,
            dense: table.dense,
            as_of_us: table.observed.as_of_us,
            whole_us: table.observed.whole_us,
            changed_us: table.observed.changed_us,
            partition_key: columns(&table.partition_key),
            clustering: columns(&table.clustering),
            static_columns: of_kind(ColumnKind::Static),
            regular: of_kind(ColumnKind::Regular),
        }
    }

    fn table(&self) -> Result<Table> {
        let columns = |columns: &[StoredColumn], kind| {
            let columns = columns.iter().map(|column| column.column(kind));
            columns.collect::<Result<Vec<_>, _>>()
        };
        let mut others = columns(&self.regular, ColumnKind::Regular)?;
        others.extend(columns(&self.static_columns, ColumnKind::Static)?);
        let mut table = Table {
            id: TableId::parse(&self.id).ok_or_else(|| SchemaError::Table {
                keyspace: self.keyspace.clone(),
                table: self.name.clone(),
                reason: "its id is not a UUID".to_owned(),
            })?,
            keyspace: self.keyspace.clone(),
            name: self.name.clone(),
            kind: if self.is_view {
                TableKind::View
            } else {
                TableKind::Table
            },
            cdc: self.cdc,
            counter: self.counter,
            dense: self.dense,
            partition_key: columns(&self.partition_key, ColumnKind::PartitionKey)?,
            clustering: columns(&self.clustering, ColumnKind::Clustering)?,
            columns: others,
            observed: Observed {
                as_of_us: self.as_of_us,
                whole_us: self.whole_us,
                changed_us: self.changed_us,
            },
        };
        table.sort_columns();
        Ok(table)
    }
}

impl StoredColumn {
    fn from_column(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            class: marshal_name(&column.cql_type, column.multi_cell, column.reversed),
            dropped_at_us: column.dropped_at_us,
            first_us: column.history.first_us,
            seen_us: column.history.seen_us,
            gone_us: column.history.gone_us,
            drops_us: column.history.drops_us.clone(),
        }
    }

    fn column(&self, kind: ColumnKind) -> Result<Column> {
        let (cql_type, multi_cell) = parse_type(&self.class, "", &UserTypes::default())?;
        Ok(Column {
            name: self.name.clone(),
            kind,
            cql_type,
            multi_cell,
            reversed: self.class.starts_with(REVERSED),
            dropped_at_us: self.dropped_at_us,
            history: ColumnHistory {
                first_us: self.first_us,
                seen_us: self.seen_us,
                gone_us: self.gone_us,
                drops_us: self.drops_us.clone(),
            },
        })
    }
}
