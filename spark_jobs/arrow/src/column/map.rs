use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueReader, cql_name};

use super::order;
use super::{Column, Element, has_empty, offset};
use crate::arrow_type::{element_field, entry_fields, holds_map};
use crate::{Misfit, Rendering, arrow_type};

/// `map`: a map, or a list of entries if its keys contain maps.
pub struct Map {
    cql_type: CqlType,
    rendering: Rendering,
    entries: Entries,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

struct Entries {
    key_type: CqlType,
    value_type: CqlType,
    is_list: bool,
    keys: Box<dyn Column>,
    values: Box<dyn Column>,
}

impl Entries {
    /// Appends an entry. A list of entries may contain null keys; a map may not.
    fn append(
        &mut self,
        cql_type: &CqlType,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<(), Misfit> {
        let is_null = key.is_none_or(|key| key.is_empty() && !has_empty(&self.key_type));
        if is_null && !self.is_list {
            return Err(Misfit::NullKey {
                cql_type: cql_name(cql_type),
            });
        }
        self.keys.append(key)?;
        self.values.append(value)
    }
}

impl Map {
    pub fn new(cql_type: &CqlType, key: &CqlType, value: &CqlType, rendering: Rendering) -> Self {
        Self {
            cql_type: cql_type.clone(),
            rendering,
            entries: Entries {
                key_type: key.clone(),
                value_type: value.clone(),
                is_list: holds_map(key),
                keys: super::column(key, rendering),
                values: super::column(value, rendering),
            },
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn end_row(&mut self, is_there: bool) -> Result<(), Misfit> {
        self.offsets.push(offset(self.entries.keys.rows())?);
        self.nulls.append(is_there);
        Ok(())
    }
}

impl Column for Map {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return self.end_row(false);
        };
        let mut reader = ValueReader::new(&self.cql_type, bytes);
        for _ in 0..reader.read_count()? {
            let key = reader.read_element()?;
            let value = reader.read_element()?;
            self.entries.append(&self.cql_type, key, value)?;
        }
        reader.finish()?;
        self.end_row(true)
    }

    fn append_elements(&mut self, elements: &mut [Element<'_>]) -> Result<(), Misfit> {
        order::sort(elements, &self.entries.key_type)?;
        for element in elements.iter() {
            self.entries
                .append(&self.cql_type, Some(element.path), element.value)?;
        }
        self.end_row(!elements.is_empty())
    }

    fn rows(&self) -> usize {
        self.nulls.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let fields = entry_fields(
            arrow_type(&self.entries.key_type, self.rendering),
            arrow_type(&self.entries.value_type, self.rendering),
            self.entries.is_list,
        );
        let arrays = vec![self.entries.keys.finish()?, self.entries.values.finish()?];
        let entries = StructArray::try_new(fields.clone(), arrays, None)?;
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let nulls = self.nulls.finish();
        let entries_type = DataType::Struct(fields);
        Ok(if self.entries.is_list {
            let field = element_field(entries_type);
            Arc::new(ListArray::try_new(
                field,
                offsets,
                Arc::new(entries),
                nulls,
            )?)
        } else {
            let field = Arc::new(Field::new("entries", entries_type, false));
            Arc::new(MapArray::try_new(field, offsets, entries, nulls, false)?)
        })
    }
}
