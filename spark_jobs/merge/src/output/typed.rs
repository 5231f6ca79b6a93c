//! Builds rows with the columns of `SELECT *`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, Field, Fields};
use commitlog_core::schema;
use spark_arrow::{DecodeError, Misfit, Names, Table};

use super::Room;
use super::elements::{Clusterings, Elements};
use crate::columns::{Columns, ShownColumn};
use crate::content::{Content, ShownCell};
use crate::error::Result;
use crate::evaluation::View;
use crate::partition::Store;

/// The column that identifies a row.
pub const ROW_ID: &str = "cdc_row_id";

/// Uses `Binary`, because Spark cannot read fixed-size binary.
pub fn row_id_field() -> Field {
    Field::new(ROW_ID, DataType::Binary, false)
}

/// Decodes raw rows of one table.
#[derive(Debug)]
pub struct TypedTable {
    table: Table,
    key_name: String,
    clustering_name: String,
}

impl TypedTable {
    pub fn new(table: &schema::Table) -> Result<Self> {
        let unused = |name: &str| {
            let mut name = name.to_owned();
            while table.columns.iter().any(|column| column.name == name) {
                name.insert(0, '_');
            }
            name
        };
        let (key_name, clustering_name) = (unused("pk"), unused("ckv"));
        let names = Names {
            partition_key: Some(key_name.clone()),
            clustering: Some(clustering_name.clone()),
            carried: Vec::new(),
        };
        Ok(Self {
            table: Table::new(table, &[], names)?,
            key_name,
            clustering_name,
        })
    }

    /// The columns of `SELECT *`.
    pub fn fields(&self) -> Fields {
        self.table.fields()
    }
}

/// Collects raw rows, and decodes them into typed columns.
#[derive(Debug)]
pub struct TypedRows {
    decoder: Arc<TypedTable>,
    room: Room,
    keys: BinaryBuilder,
    clusterings: Clusterings,
    columns: Vec<(ShownColumn, Values)>,
}

#[derive(Debug)]
enum Values {
    One(BinaryBuilder),
    Several(Elements),
}

impl TypedRows {
    pub fn new(decoder: Arc<TypedTable>, columns: &Columns) -> Self {
        let values = |column: &ShownColumn| {
            if column.multi_cell {
                Values::Several(Elements::default())
            } else {
                Values::One(BinaryBuilder::new())
            }
        };
        let columns = columns.shown().iter();
        Self {
            decoder,
            room: Room::default(),
            keys: BinaryBuilder::new(),
            clusterings: Clusterings::default(),
            columns: columns.map(|c| (c.clone(), values(c))).collect(),
        }
    }

    pub fn fields(&self) -> Fields {
        self.decoder.fields()
    }

    pub fn is_full(&self) -> bool {
        self.room.is_full()
    }

    pub fn is_empty(&self) -> bool {
        self.room.rows == 0
    }

    pub fn append(
        &mut self,
        view: View<'_>,
        ckv: Option<&[u8]>,
        (row, statics): (&Content, &Content),
    ) -> Result<()> {
        let pk = &view.partition.pk;
        let mut bytes = pk.len();
        let mut of_row = row.cells.as_slice();
        let mut of_statics = statics.cells.as_slice();
        for (column, values) in &mut self.columns {
            let mut cells = take_column(&mut of_row, column.id);
            let static_cells = take_column(&mut of_statics, column.id);
            if cells.is_empty() {
                cells = static_cells;
            }
            bytes = bytes.saturating_add(values.append(cells, view.store));
        }
        self.room.add_row(bytes)?;
        self.keys.append_value(pk);
        self.clusterings.append(ckv);
        Ok(())
    }

    /// Appends a row of nulls.
    pub fn append_null(&mut self) -> Result<()> {
        for (_, values) in &mut self.columns {
            match values {
                Values::One(values) => values.append_null(),
                Values::Several(elements) => elements.end(false),
            }
        }
        self.room.add_row(0)?;
        self.keys.append_null();
        self.clusterings.append(None);
        Ok(())
    }

    /// Takes the typed rows so far.
    pub fn take(&mut self) -> Result<StructArray> {
        let raw = self.take_raw()?;
        Ok(self.decoder.table.decode(&raw)?)
    }

    /// Takes the typed rows so far. A row with a legal value that has no typed form becomes null;
    /// the map contains its key and the reason, by row number.
    pub fn take_fitting(&mut self) -> Result<(StructArray, BTreeMap<usize, String>)> {
        let raw = self.take_raw()?;
        let table = &self.decoder.table;
        let error = match table.decode(&raw) {
            Ok(rows) => return Ok((rows, BTreeMap::new())),
            Err(error) => error,
        };
        let misfit = |row: usize| match table.decode(&raw.slice(row, 1)) {
            Err(DecodeError::Value {
                column,
                cause: cause @ Misfit::Timestamp { .. },
                ..
            }) => Some((
                row,
                format!("{}, column {column}: {cause}", key_of(&raw, row)),
            )),
            _ => None,
        };
        let misfits: BTreeMap<usize, String> = (0..raw.len()).filter_map(misfit).collect();
        if misfits.is_empty() {
            return Err(error.into());
        }
        let data = raw.to_data();
        let mut fitting = MutableArrayData::new(vec![&data], true, raw.len());
        for row in 0..raw.len() {
            if misfits.contains_key(&row) {
                fitting.try_extend_nulls(1)?;
            } else {
                fitting.try_extend(0, row, row.saturating_add(1))?;
            }
        }
        let (fields, columns, _) = StructArray::from(fitting.freeze()).into_parts();
        let fitting = StructArray::try_new_with_length(fields, columns, None, raw.len())?;
        Ok((table.decode(&fitting)?, misfits))
    }

    fn take_raw(&mut self) -> Result<StructArray> {
        self.room.clear();
        let mut names = vec![&self.decoder.key_name, &self.decoder.clustering_name];
        let mut arrays: Vec<ArrayRef> =
            vec![Arc::new(self.keys.finish()), self.clusterings.finish()?];
        for (column, values) in &mut self.columns {
            names.push(&column.name);
            arrays.push(match values {
                Values::One(values) => Arc::new(values.finish()),
                Values::Several(elements) => elements.finish()?,
            });
        }
        let fields = names.into_iter().zip(&arrays);
        let fields = fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        Ok(StructArray::try_new(fields.collect(), arrays, None)?)
    }
}

/// Formats the key of a raw row for a message, as blob literals of CQL.
fn key_of(raw: &StructArray, row: usize) -> String {
    let text = |bytes: &[u8]| {
        bytes
            .iter()
            .fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    };
    let key = raw.column(0).as_binary::<i32>().value(row);
    let mut name = format!("partition key {}", text(key));
    let clustering = raw.column(1).as_list::<i32>().value(row);
    for value in clustering.as_binary::<i32>() {
        name.push_str(", clustering ");
        name.push_str(&value.map_or_else(|| "null".to_owned(), text));
    }
    name
}

impl Values {
    /// Appends the cells of one row and column. Returns the bytes of their paths and values.
    fn append(&mut self, cells: &[ShownCell], store: &Store) -> usize {
        let mut bytes = 0_usize;
        match self {
            Self::One(values) => match cells.first() {
                Some(cell) => {
                    let value = cell.value(store);
                    values.append_value(value);
                    bytes = value.len();
                }
                None => values.append_null(),
            },
            Self::Several(elements) => {
                for cell in cells {
                    let path = cell.path.map(|path| store.arena.get(path));
                    let value = cell.value(store);
                    elements.push(path, value);
                    let length = path.map_or(0, <[u8]>::len).saturating_add(value.len());
                    bytes = bytes.saturating_add(length);
                }
                elements.end(!cells.is_empty());
            }
        }
        bytes
    }
}

/// Takes the cells of a column from the front of cells that are ordered by column.
pub fn take_column<'c>(cells: &mut &'c [ShownCell], column: u32) -> &'c [ShownCell] {
    let first = cells.iter().take_while(|cell| cell.column < column).count();
    let rest = cells.get(first..).unwrap_or_default();
    let count = rest.iter().take_while(|cell| cell.column == column).count();
    let (of_column, rest) = rest.split_at_checked(count).unwrap_or_default();
    *cells = rest;
    of_column
}
