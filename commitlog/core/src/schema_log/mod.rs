//! Schema changes in the log: the rows of `system_schema` and of the metadata log, decoded from
//! their mutations.

mod builtin;
mod new_columns;

use std::sync::{Arc, OnceLock};

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::Decoder;
use crate::row::{Cell, CellState, Row, Unfiltered};
use crate::schema::rows::{ColumnRow, DroppedColumnRow, TableRow, TypeRow};
use crate::schema::{
    ColumnKind, MetadataLogEntry, Schema, SchemaChange, Table, TableId, TableKind, is_system,
    parse_cql,
};
use builtin::SYSTEM_SCHEMA;
use new_columns::{MOST_COLUMNS, read_with_new_columns};

const METADATA_LOG: &str = "local_metadata_log";

/// Returns the built-in definitions of the tables that contain schema changes.
fn system_schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| parse_cql(SYSTEM_SCHEMA).unwrap_or_default())
}

/// Reads schema changes from mutations of `system_schema` and of the metadata log.
pub struct SchemaChangeReader {
    decoder: Decoder,
}

impl SchemaChangeReader {
    /// `known` adds the columns of later releases to the built-in tables.
    pub fn new(known: &Schema) -> Self {
        let builtin = system_schema();
        let same = builtin
            .tables()
            .into_iter()
            .filter_map(|t| known.table(t.id));
        let known = Schema::new(same.map(|table| (**table).clone()));
        Self {
            decoder: Decoder::new(Arc::new(builtin.merged(&known))),
        }
    }

    /// Whether updates of this table are schema changes.
    pub fn is_schema_table(id: TableId) -> bool {
        id.is_name_based() && system_schema().table(id).is_some()
    }

    /// Reads the schema change in a mutation. Returns `None` if `schema` already contains it, or if
    /// the mutation contains no readable change. An entry of the metadata log is always new.
    pub fn read_if_new(
        &mut self,
        payload: &[u8],
        version: Version,
        schema: &Schema,
    ) -> Option<SchemaChange> {
        let (head, _) = self.decoder.head(payload, version).ok()?;
        if !Self::is_schema_table(head.first_table) {
            return None;
        }
        let change = self.read(payload, version).ok()??;
        let is_known = || schema.with_changes([&change]).is_same(schema);
        (change.entry().is_some() || !is_known()).then_some(change)
    }

    /// Returns a change that represents a mutation that [`Self::read`] cannot read.
    pub fn unreadable(version: Version) -> SchemaChange {
        SchemaChange::unreadable(version.has_table_epochs())
    }

    /// Reads the schema change in a mutation; `None` if readers do not need it and it drops no
    /// table.
    ///
    /// # Errors
    /// The mutation cannot be decoded, because it comes from an unknown release.
    pub fn read(&mut self, payload: &[u8], version: Version) -> Result<Option<SchemaChange>> {
        read_change(&mut self.decoder, payload, version).or_else(|error| {
            let schema = self.decoder.schema();
            read_with_new_columns(schema, payload, version, error, MOST_COLUMNS)
        })
    }
}

fn read_change(
    decoder: &mut Decoder,
    payload: &[u8],
    version: Version,
) -> Result<Option<SchemaChange>> {
    let mut change = SchemaChange {
        has_epochs: version.has_table_epochs(),
        ..SchemaChange::default()
    };
    let mut row = Row::default();
    let mut mutation = decoder.mutation(payload, version)?;
    while let Some(update) = mutation.next_update()? {
        if change.keyspace.is_empty() {
            change.keyspace = text(update.key);
        }
        let Some(table) = mutation.table().map(Arc::clone) else {
            break;
        };
        if let (Some(deletion), "tables") = (update.deletion, table.name.as_str()) {
            change.deleted_us = Some(deletion.timestamp_us);
        }
        while let Some(unfiltered) = mutation.next_unfiltered(&mut row)? {
            if unfiltered != Unfiltered::Row {
                continue;
            }
            let row = SchemaRow {
                table: &table,
                row: &row,
            };
            if table.name == METADATA_LOG {
                // Mutations of the metadata log have one row.
                return Ok(row.entry(update.key).map(SchemaChange::of_entry));
            }
            row.add_to(&mut change);
        }
    }
    let has_news = !change.is_empty() || change.has_drops();
    Ok((!is_system(&change.keyspace) && has_news).then_some(change))
}

/// A row of a schema table.
struct SchemaRow<'r, 'p> {
    table: &'r Table,
    row: &'r Row<'p>,
}

impl SchemaRow<'_, '_> {
    fn add_to(&self, change: &mut SchemaChange) {
        match self.table.name.as_str() {
            name @ ("tables" | "views") => {
                let kind = if name == "views" {
                    TableKind::View
                } else {
                    TableKind::Table
                };
                let row = self.table_row(&change.keyspace, kind);
                change.tables.extend(row);
                let deleted = self.deleted_us().map(|time_us| (time_us, self.key(0)));
                change.deleted_tables.extend(deleted);
            }
            "columns" => {
                change.columns.extend(self.column_row(&change.keyspace));
                let names = (self.key(0), self.key(1));
                let deleted = self.deleted_us().map(|time_us| (time_us, names));
                change.deleted_columns.extend(deleted);
            }
            "dropped_columns" => {
                let row = self.dropped_column_row(&change.keyspace);
                change.dropped_columns.extend(row);
            }
            "types" => change.types.extend(self.type_row(&change.keyspace)),
            _ => {}
        }
    }

    /// Reads an entry of the metadata log; `None` if the row is deleted.
    fn entry(&self, key: &[u8]) -> Option<MetadataLogEntry> {
        let epoch = i64::from_be_bytes(key.try_into().ok()?);
        let kind = i32::from_be_bytes(self.cell("kind")?.value.try_into().ok()?);
        let transformation = self.cell("transformation")?;
        Some(MetadataLogEntry::parse(epoch, kind, transformation.value))
    }

    /// Returns the deletion time in microseconds, unless the same mutation writes the row again.
    fn deleted_us(&self) -> Option<i64> {
        let deletion = self.row.deletion.filter(|_| self.row.cells.is_empty());
        deletion.map(|deletion| deletion.timestamp_us)
    }

    fn table_row(&self, keyspace: &str, kind: TableKind) -> Option<(i64, TableRow)> {
        let id = self.cell("id")?;
        let row = TableRow {
            keyspace_name: keyspace.to_owned(),
            name: self.key(0),
            id: TableId(id.value.try_into().ok()?).to_string(),
            cdc: self.cell("cdc").map(|cell| cell.value == [1]),
            flags: self.cell("flags").map(|cell| texts(cell.value)),
            changed_us: Some(id.timestamp_us),
            kind,
        };
        Some((id.timestamp_us, row))
    }

    fn column_row(&self, keyspace: &str) -> Option<(i64, ColumnRow)> {
        let type_name = self.cell("type")?;
        let row = ColumnRow {
            keyspace_name: keyspace.to_owned(),
            table_name: self.key(0),
            column_name: self.key(1),
            type_name: text(type_name.value),
            kind: ColumnKind::parse(&text(self.cell("kind")?.value))?,
            position: self.position(),
            clustering_order: self.cell("clustering_order").map(|cell| text(cell.value)),
            created_us: None,
        };
        Some((type_name.timestamp_us, row))
    }

    fn dropped_column_row(&self, keyspace: &str) -> Option<(i64, DroppedColumnRow)> {
        let type_name = self.cell("type")?;
        let kind = self.cell("kind");
        let row = DroppedColumnRow {
            keyspace_name: keyspace.to_owned(),
            table_name: self.key(0),
            column_name: self.key(1),
            type_name: text(type_name.value),
            kind: kind.and_then(|cell| ColumnKind::parse(&text(cell.value))),
            dropped_time: i64::from_be_bytes(self.cell("dropped_time")?.value.try_into().ok()?),
        };
        Some((type_name.timestamp_us, row))
    }

    fn type_row(&self, keyspace: &str) -> Option<(i64, TypeRow)> {
        let names = self.cell("field_names")?;
        let row = TypeRow {
            keyspace_name: keyspace.to_owned(),
            type_name: self.key(0),
            field_names: texts(names.value),
            field_types: texts(self.cell("field_types")?.value),
        };
        let is_whole = row.field_names.len() == row.field_types.len();
        is_whole.then_some((names.timestamp_us, row))
    }

    fn position(&self) -> i32 {
        let position = self.cell("position").map(|cell| cell.value);
        let position = position.and_then(|value| value.try_into().ok());
        position.map_or(-1, i32::from_be_bytes)
    }

    fn key(&self, index: usize) -> String {
        let value = self.row.clustering.get(index).copied().flatten();
        text(value.unwrap_or_default())
    }

    /// Returns the cell of a column, if it has a value.
    fn cell(&self, name: &str) -> Option<&Cell<'_>> {
        let mut cells = self.row.cells.iter();
        cells.find(|cell| {
            let column = self.table.columns.get(cell.column as usize);
            let is_value = !matches!(cell.state, CellState::Tombstone(_));
            is_value && column.is_some_and(|column| column.name == name)
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads the elements of a frozen list or set of text (format notes §6.2); none if it is damaged.
fn texts(bytes: &[u8]) -> Vec<String> {
    let mut cursor = Cursor::new(bytes);
    let mut read = || -> Result<Vec<String>> {
        let count = cursor.u32()?;
        let mut texts = Vec::new();
        for _ in 0..count {
            let length = cursor.u32()? as usize;
            texts.push(text(cursor.bytes(length)?));
        }
        Ok(texts)
    };
    read().unwrap_or_default()
}
