//! Decodes batches of raw rows of one table into typed rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{Field, FieldRef, Fields};
use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{self, ColumnKind};

use crate::input::{ByteLists, Bytes, Elements};
use crate::typed_column::{Source, TypedColumn};
use crate::{Column, DecodeError, Misfit, Rendering, partition_key};

/// Names of batch columns that are not table columns.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// A binary column of whole partition keys, which are split into the key columns.
    pub partition_key: Option<String>,
    /// A `list<binary>` column of clustering values. The list is empty for a static row.
    pub clustering: Option<String>,
    /// Columns that pass through unchanged, before the typed columns.
    pub carried: Vec<String>,
}

/// Decodes batches of one table.
#[derive(Debug)]
pub struct Table {
    name: String,
    names: Names,
    key_columns: usize,
    clustering_columns: usize,
    columns: Vec<TypedColumn>,
}

impl Table {
    /// `renderings` sets the rendering of some columns by name.
    ///
    /// # Errors
    /// [`DecodeError::Batch`] for an unknown column, or a rendering that its type cannot have.
    pub fn new(
        table: &schema::Table,
        renderings: &[(String, Rendering)],
        names: Names,
    ) -> Result<Self, DecodeError> {
        let live = |kind: ColumnKind| {
            let mut columns: Vec<_> = table
                .columns
                .iter()
                .filter(|column| column.kind == kind && column.dropped_at_us.is_none())
                .collect();
            columns.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
            columns
        };
        let whole_key = names.partition_key.is_some();
        let whole_clustering = names.clustering.is_some();
        let key = table.partition_key.iter().enumerate();
        let clustering = table.clustering.iter().enumerate();
        let others = live(ColumnKind::Static)
            .into_iter()
            .chain(live(ColumnKind::Regular));
        let own = |is_own: bool, source| if is_own { Source::Own } else { source };
        let columns =
            key.map(|(place, column)| (column, own(!whole_key, Source::PartitionKey(place))))
                .chain(clustering.map(|(place, column)| {
                    (column, own(!whole_clustering, Source::Clustering(place)))
                }))
                .chain(others.map(|column| (column, Source::Own)));
        let mut typed = Self {
            name: format!("{}.{}", table.keyspace, table.name),
            names,
            key_columns: table.partition_key.len(),
            clustering_columns: table.clustering.len(),
            columns: Vec::new(),
        };
        for (column, source) in columns {
            // `SELECT` does not show the hidden value column of a dense compact table.
            if column.cql_type == CqlType::Empty {
                continue;
            }
            let mut chosen = renderings.iter().filter(|(name, _)| *name == column.name);
            let rendering = chosen.next_back().map_or(Rendering::Typed, |(_, r)| *r);
            typed
                .columns
                .push(TypedColumn::new(column, rendering, source));
        }
        for (name, rendering) in renderings {
            typed.check_choice(name, *rendering)?;
        }
        Ok(typed)
    }

    fn check_choice(&self, name: &str, rendering: Rendering) -> Result<(), DecodeError> {
        match self.columns.iter().find(|column| column.name == name) {
            None => Err(self.batch_error(name, "the table has no such column")),
            Some(column) if column.allows(rendering) => Ok(()),
            Some(_) => Err(self.batch_error(name, "its type has no decimal or varint")),
        }
    }

    /// The typed columns, in the order of `SELECT *`.
    pub fn fields(&self) -> Fields {
        self.columns.iter().map(|c| Arc::clone(&c.field)).collect()
    }

    /// Returns the carried columns, then the typed columns. Other missing columns are null.
    ///
    /// # Errors
    /// [`DecodeError::Batch`] for a column that is unknown or has the wrong type, or if the keys or
    /// a carried column are missing; [`DecodeError::Value`] for bytes that do not fit their type.
    pub fn decode(&self, batch: &StructArray) -> Result<StructArray, DecodeError> {
        self.check_names(batch)?;
        let mut fields: Vec<FieldRef> = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for name in &self.names.carried {
            let array = batch
                .column_by_name(name)
                .ok_or_else(|| self.batch_error(name, "the batch has no such column"))?;
            let field = batch
                .fields()
                .find(name)
                .map(|(_, field)| Arc::clone(field));
            fields
                .push(field.unwrap_or_else(|| {
                    Arc::new(Field::new(name, array.data_type().clone(), true))
                }));
            arrays.push(Arc::clone(array));
        }
        let keys = self.split_keys(batch)?;
        let clusterings = self.clusterings(batch)?;
        for typed in &self.columns {
            let array = match typed.source {
                Source::Own => self.decode_own(typed, batch)?,
                Source::PartitionKey(place) => {
                    let value = |row: usize| {
                        let values = row.checked_mul(self.key_columns)?;
                        *keys.get(values.checked_add(place)?)?
                    };
                    self.decode_bytes(typed, batch.len(), value)?
                }
                Source::Clustering(place) => {
                    let value = |row| clusterings.as_ref().and_then(|c| c.get(row, place));
                    self.decode_bytes(typed, batch.len(), value)?
                }
            };
            fields.push(Arc::clone(&typed.field));
            arrays.push(array);
        }
        StructArray::try_new_with_length(Fields::from(fields), arrays, None, batch.len())
            .map_err(|error| self.batch_error("", &error.to_string()))
    }

    fn check_names(&self, batch: &StructArray) -> Result<(), DecodeError> {
        let names = &self.names;
        for field in batch.fields() {
            let name = field.name();
            let is_own =
                |column: &TypedColumn| column.name == *name && column.source == Source::Own;
            let is_known = names.carried.contains(name)
                || names.partition_key.as_ref() == Some(name)
                || names.clustering.as_ref() == Some(name)
                || self.columns.iter().any(is_own);
            if !is_known {
                let reason = "the table has no such column, and `carry` does not name it";
                return Err(self.batch_error(name, reason));
            }
        }
        Ok(())
    }

    /// The values of the key columns, row by row; empty without a column of whole keys.
    fn split_keys<'a>(&self, batch: &'a StructArray) -> Result<Vec<Option<&'a [u8]>>, DecodeError> {
        let mut values = Vec::new();
        let Some(name) = &self.names.partition_key else {
            return Ok(values);
        };
        let array = batch.column_by_name(name);
        let keys = array.and_then(|array| Bytes::from_array(array));
        let keys = keys.ok_or_else(|| {
            self.batch_error(name, "the batch has no binary column of partition keys")
        })?;
        for row in 0..batch.len() {
            match keys.get(row) {
                Some(key) => partition_key::split(self.key_columns, key, &mut values)
                    .map_err(|error| self.value_error(name, row, error.into()))?,
                None => values.extend(std::iter::repeat_n(None, self.key_columns)),
            }
        }
        Ok(values)
    }

    fn clusterings<'a>(
        &self,
        batch: &'a StructArray,
    ) -> Result<Option<ByteLists<'a>>, DecodeError> {
        let Some(name) = &self.names.clustering else {
            return Ok(None);
        };
        let array = batch.column_by_name(name);
        let lists = array.and_then(ByteLists::from_array).ok_or_else(|| {
            self.batch_error(
                name,
                "the batch has no list<binary> column of clustering values",
            )
        })?;
        for row in 0..batch.len() {
            if lists.count(row) > self.clustering_columns {
                let cause = Misfit::Clustering {
                    values: lists.count(row),
                    columns: self.clustering_columns,
                };
                return Err(self.value_error(name, row, cause));
            }
        }
        Ok(Some(lists))
    }

    fn decode_own(
        &self,
        typed: &TypedColumn,
        batch: &StructArray,
    ) -> Result<ArrayRef, DecodeError> {
        let Some(array) = batch.column_by_name(&typed.name) else {
            return Ok(arrow_array::new_null_array(
                typed.field.data_type(),
                batch.len(),
            ));
        };
        if !typed.multi_cell {
            let bytes = Bytes::from_array(array).ok_or_else(|| {
                let reason = format!("expected binary, not {}", array.data_type());
                self.batch_error(&typed.name, &reason)
            })?;
            return self.decode_bytes(typed, batch.len(), |row| bytes.get(row));
        }
        let elements = Elements::from_array(array).ok_or_else(|| {
            let reason = format!(
                "expected a list of struct<path: binary, value: binary>, not {}",
                array.data_type()
            );
            self.batch_error(&typed.name, &reason)
        })?;
        let mut row_elements = Vec::new();
        self.decode_rows(typed, batch.len(), |array, row| {
            if !elements.get(row, &mut row_elements) {
                return Err(Misfit::NoPath);
            }
            array.append_elements(&mut row_elements)
        })
    }

    fn decode_bytes<'a>(
        &self,
        typed: &TypedColumn,
        rows: usize,
        bytes: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Result<ArrayRef, DecodeError> {
        self.decode_rows(typed, rows, |array, row| array.append(bytes(row)))
    }

    /// Decodes the rows that `append` appends one by one.
    fn decode_rows(
        &self,
        typed: &TypedColumn,
        rows: usize,
        mut append: impl FnMut(&mut dyn Column, usize) -> Result<(), Misfit>,
    ) -> Result<ArrayRef, DecodeError> {
        let mut array = typed.array();
        for row in 0..rows {
            append(array.as_mut(), row)
                .map_err(|cause| self.value_error(&typed.name, row, cause))?;
        }
        let finished = array.finish();
        finished.map_err(|error| self.batch_error(&typed.name, &error.to_string()))
    }

    #[cold]
    fn value_error(&self, column: &str, row: usize, cause: Misfit) -> DecodeError {
        DecodeError::Value {
            table: self.name.clone(),
            column: column.to_owned(),
            row,
            cause,
        }
    }

    #[cold]
    fn batch_error(&self, column: &str, reason: &str) -> DecodeError {
        DecodeError::Batch {
            table: self.name.clone(),
            column: column.to_owned(),
            reason: reason.to_owned(),
        }
    }
}
