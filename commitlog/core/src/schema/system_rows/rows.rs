//! Rows of `system_schema`, with the columns that are read.

use serde::Deserialize;

use crate::schema::{ColumnKind, MetadataLogEntry};

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
        let digits = self.transformation.as_bytes().chunks(2);
        let bytes = digits.map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        MetadataLogEntry::parse(self.epoch, self.kind, &bytes.unwrap_or_default())
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
    pub is_view: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ColumnRow {
    pub keyspace_name: String,
    pub table_name: String,
    pub column_name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub kind: Kind,
    pub position: i32,
    pub clustering_order: Option<String>,
    pub created_us: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct DroppedColumnRow {
    pub keyspace_name: String,
    pub table_name: String,
    pub column_name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub kind: Option<Kind>,
    /// Milliseconds.
    pub dropped_time: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TypeRow {
    pub keyspace_name: String,
    pub type_name: String,
    pub field_names: Vec<String>,
    pub field_types: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    PartitionKey,
    Clustering,
    Static,
    Regular,
}

impl From<Kind> for ColumnKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::PartitionKey => Self::PartitionKey,
            Kind::Clustering => Self::Clustering,
            Kind::Static => Self::Static,
            Kind::Regular => Self::Regular,
        }
    }
}

impl Kind {
    /// Parses Cassandra's name for a kind.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "partition_key" => Self::PartitionKey,
            "clustering" => Self::Clustering,
            "static" => Self::Static,
            "regular" => Self::Regular,
            _ => return None,
        })
    }
}
