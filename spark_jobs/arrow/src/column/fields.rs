use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, Field};
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, ValueReader, fixed};

use super::{Column, Element, not_multi_cell};
use crate::nested_types::named_fields;
use crate::{Misfit, Rendering};

/// `tuple` and user types. Missing trailing fields are null: they were added to the type after the
/// value was written.
pub struct Fields {
    cql_type: CqlType,
    names: Vec<String>,
    columns: Vec<Box<dyn Column>>,
    nulls: NullBufferBuilder,
}

impl Fields {
    pub fn new(cql_type: &CqlType, rendering: Rendering) -> Self {
        let fields = named_fields(cql_type).into_iter();
        let (names, columns) = fields
            .map(|(name, ty)| (name, super::column(ty, rendering)))
            .unzip();
        Self {
            cql_type: cql_type.clone(),
            names,
            columns,
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn append_null(&mut self) -> Result<(), Misfit> {
        self.nulls.append(false);
        self.columns
            .iter_mut()
            .try_for_each(|column| column.append(None))
    }
}

impl Column for Fields {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return self.append_null();
        };
        let mut reader = ValueReader::new(&self.cql_type, bytes);
        for column in &mut self.columns {
            column.append(reader.read_field()?)?;
        }
        reader.finish()?;
        self.nulls.append(true);
        Ok(())
    }

    fn append_elements(&mut self, elements: &mut [Element<'_>]) -> Result<(), Misfit> {
        if !matches!(self.cql_type, CqlType::Udt(_)) {
            return Err(not_multi_cell(&self.cql_type));
        }
        if elements.is_empty() {
            return self.append_null();
        }
        let mut values = vec![None; self.columns.len()];
        for element in elements.iter() {
            let index = u16::from_be_bytes(fixed(&CqlType::SmallInt, element.path)?);
            let Some(value) = values.get_mut(usize::from(index)) else {
                let fields = self.columns.len();
                return Err(ValueError::unknown_field(&self.cql_type, index, fields).into());
            };
            *value = element.value;
        }
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.append(value)?;
        }
        self.nulls.append(true);
        Ok(())
    }

    fn rows(&self) -> usize {
        self.nulls.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let arrays: Result<Vec<_>, _> = self.columns.iter_mut().map(|c| c.finish()).collect();
        let arrays = arrays?;
        let fields = self.names.iter().zip(&arrays);
        let fields = fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let (fields, length) = (fields.collect(), self.nulls.len());
        let nulls = self.nulls.finish();
        let array = StructArray::try_new_with_length(fields, arrays, nulls, length)?;
        Ok(Arc::new(array))
    }
}
