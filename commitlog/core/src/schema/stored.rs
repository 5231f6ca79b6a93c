//! A schema with its history as JSON, for the reader's next start.

mod epochs;

use serde::{Deserialize, Serialize};

use epochs::StoredEpochs;

use super::type_versions::TypeVersion;
use super::{
    Column, ColumnHistory, ColumnKind, Observed, Result, Schema, SchemaError, Table, TableId,
    TableKind, UserTypes, marshal_name, parse_type,
};

const REVERSED: &str = "org.apache.cassandra.db.marshal.ReversedType(";

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSchema {
    tables: Vec<StoredTable>,
    types: Vec<StoredType<TypeVersion>>,
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
    #[serde(flatten)]
    observed: Observed,
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
    #[serde(flatten)]
    history: ColumnHistory,
}

/// A version of a user type.
#[derive(Serialize, Deserialize)]
struct StoredType<V> {
    keyspace: String,
    name: String,
    #[serde(flatten)]
    version: V,
}

impl<V> StoredType<V> {
    fn new(keyspace: &str, name: &str, version: V) -> Self {
        Self {
            keyspace: keyspace.to_owned(),
            name: name.to_owned(),
            version,
        }
    }
}

impl Schema {
    /// Serializes the schema as JSON for [`Schema::from_stored`].
    pub fn to_stored(&self) -> String {
        // Texts and numbers can always be serialized.
        serde_json::to_string(&StoredSchema::from_schema(self)).unwrap_or_default()
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
        stored.schema()
    }
}

impl StoredSchema {
    pub fn from_schema(schema: &Schema) -> Self {
        let tables = schema.tables.values().chain(schema.fragments.values());
        let mut tables: Vec<_> = tables.collect();
        tables.sort_by_key(|table| table.id);
        let types = schema.types.iter();
        Self {
            tables: tables
                .into_iter()
                .map(|table| StoredTable::from_table(table))
                .collect(),
            types: types
                .map(|(keyspace, name, version)| StoredType::new(keyspace, name, version.clone()))
                .collect(),
            epochs: StoredEpochs::from_epochs(&schema.epochs),
        }
    }

    pub fn schema(self) -> Result<Schema> {
        let mut schema = Schema::default();
        for stored in self.types {
            (schema.types).add(&stored.keyspace, &stored.name, stored.version);
        }
        for stored in &self.tables {
            schema.insert(&stored.table()?.into());
        }
        if let Some(stored) = self.epochs {
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
            observed: table.observed,
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
            id: TableId::parse(&self.id).ok_or_else(|| {
                SchemaError::in_table(&self.keyspace, &self.name, "its id is not a UUID")
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
            observed: self.observed,
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
            history: column.history.clone(),
        }
    }

    fn column(&self, kind: ColumnKind) -> Result<Column> {
        let (cql_type, multi_cell) = parse_type(&self.class, "", &UserTypes::default())?;
        Ok(Column {
            reversed: self.class.starts_with(REVERSED),
            dropped_at_us: self.dropped_at_us,
            history: self.history.clone(),
            ..Column::new(self.name.clone(), kind, cql_type, multi_cell)
        })
    }
}
