//! Rows of `system_schema`, with the columns that are read.

use serde::Deserialize;

use crate::descriptor::bytes_of_hex;
use crate::schema::type_expression::{TypeExpression, expression};
use crate::schema::type_name::UserTypes;
use crate::schema::{Column, ColumnKind, MetadataLogEntry, Result, SchemaError, TableKind};

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Rows {
    #[serde(default)]
    pub tables: Vec<TableRow>,
    #[serde(default)]
    pub views: Vec<TableRow>,
    #[serde(default)]
    pub columns: Vec<ColumnRow>,
    #[serde(default)]
    pub dropped_columns: Vec<DroppedColumnRow>,
    #[serde(default)]
    pub types: Vec<TypeRow>,
    #[serde(default)]
    pub epoch: Option<i64>,
    #[serde(default)]
    pub metadata_log: Vec<MetadataLogRow>,
}

/// A row of `system.local_metadata_log`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MetadataLogRow {
    pub epoch: i64,
    pub kind: i32,
    /// Hexadecimal.
    pub transformation: String,
}

impl MetadataLogRow {
    pub fn entry(&self) -> MetadataLogEntry {
        let bytes = bytes_of_hex(&self.transformation).unwrap_or_default();
        MetadataLogEntry::parse(self.epoch, self.kind, &bytes)
    }
}

/// A row of `tables` or `views`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TableRow {
    pub keyspace_name: String,
    #[serde(rename = "table_name", alias = "view_name")]
    pub name: String,
    pub id: String,
    pub cdc: Option<bool>,
    pub flags: Option<Vec<String>>,
    /// Write time of the row in microseconds, if known.
    #[serde(default)]
    pub changed_us: Option<i64>,
    #[serde(skip)]
    pub kind: TableKind,
}

impl TableRow {
    /// Whether the flags mark a counter table.
    pub fn is_counter(&self) -> bool {
        self.has_flag("counter")
    }

    /// Whether the flags mark a dense table ([`crate::schema::Table::dense`]). Tables with super
    /// columns, which only Thrift creates, store rows in maps.
    pub fn is_dense(&self) -> bool {
        self.has_flag("dense") && !self.has_flag("super")
    }

    fn has_flag(&self, name: &str) -> bool {
        let mut flags = self.flags.iter().flatten();
        flags.any(|flag| flag.eq_ignore_ascii_case(name))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ColumnRow {
    pub keyspace_name: String,
    pub table_name: String,
    pub column_name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub kind: ColumnKind,
    pub position: i32,
    pub clustering_order: Option<String>,
    pub created_us: Option<i64>,
}

impl ColumnRow {
    pub fn column(&self, types: &UserTypes) -> Result<Column> {
        let (cql_type, multi_cell) = types
            .resolve_text(&self.type_name, &self.keyspace_name)
            .map_err(|error| {
                let (name, type_name) = (&self.column_name, &self.type_name);
                let reason = format!("column {name}: type {type_name}: {}", error.reason());
                SchemaError::in_table(&self.keyspace_name, &self.table_name, reason)
            })?;
        let multi_cell = multi_cell && !self.kind.is_key();
        let mut column = Column::new(self.column_name.clone(), self.kind, cql_type, multi_cell);
        let mut order = self.clustering_order.iter();
        column.reversed = order.any(|order| order.eq_ignore_ascii_case("desc"));
        column.history.first_us = self.created_us.unwrap_or(i64::MAX);
        Ok(column)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DroppedColumnRow {
    pub keyspace_name: String,
    pub table_name: String,
    pub column_name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub kind: Option<ColumnKind>,
    /// Milliseconds.
    pub dropped_time: i64,
}

impl DroppedColumnRow {
    pub fn column(&self, types: &UserTypes) -> Result<Column> {
        let dropped_at_us = self.dropped_time.checked_mul(1000).ok_or_else(|| {
            let reason = format!("column {}: dropped_time is out of range", self.column_name);
            SchemaError::in_table(&self.keyspace_name, &self.table_name, reason)
        })?;
        let row = ColumnRow {
            keyspace_name: self.keyspace_name.clone(),
            table_name: self.table_name.clone(),
            column_name: self.column_name.clone(),
            type_name: self.type_name.clone(),
            kind: self.kind.unwrap_or(ColumnKind::Regular),
            position: -1,
            clustering_order: None,
            created_us: None,
        };
        Ok(Column {
            dropped_at_us: Some(dropped_at_us),
            ..row.column(types)?
        })
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TypeRow {
    pub keyspace_name: String,
    pub type_name: String,
    pub field_names: Vec<String>,
    pub field_types: Vec<String>,
}

impl TypeRow {
    /// Returns the names and types of the fields, or the reason why they are invalid.
    pub(in crate::schema) fn fields(&self) -> Result<Vec<(String, TypeExpression)>, String> {
        let (names, types) = (&self.field_names, &self.field_types);
        if names.len() != types.len() {
            return Err(format!(
                "the type has {} field names and {} field types",
                names.len(),
                types.len()
            ));
        }
        let fields = names.iter().zip(types);
        let fields = fields.map(|(name, text)| match expression(text) {
            Ok(expression) => Ok((name.clone(), expression)),
            Err(error) => Err(format!("field {name}: type {text}: {}", error.reason())),
        });
        fields.collect()
    }
}
