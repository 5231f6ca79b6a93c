use std::sync::Arc;

use arrow_array::{Array, ArrayRef, MapArray, StructArray};
use arrow_schema::{ArrowError, Field, Fields};
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueReader, cql_name};

use super::order;
use super::{Column, Element, ListEnds, has_empty, offset};
use crate::nested_types::holds;
use crate::{Misfit, Rendering};

/// `map`: a map, or a list of entries if its keys contain maps, which Spark does not allow.
pub struct Map {
    cql_type: CqlType,
    entries: Entries,
    ends: ListEnds,
}

struct Entries {
    key_type: CqlType,
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
            entries: Entries {
                key_type: key.clone(),
                is_list: holds(key, &|cql_type| matches!(cql_type, CqlType::Map(..))),
                keys: super::column(key, rendering),
                values: super::column(value, rendering),
            },
            ends: ListEnds::default(),
        }
    }

    fn end_row(&mut self, is_there: bool) -> Result<(), Misfit> {
        let entries = offset(self.entries.keys.rows())?;
        self.ends.end(entries, is_there);
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
        self.ends.rows()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let is_list = self.entries.is_list;
        let (keys, values) = (self.entries.keys.finish()?, self.entries.values.finish()?);
        let fields = Fields::from(vec![
            Field::new("key", keys.data_type().clone(), is_list),
            Field::new("value", values.data_type().clone(), true),
        ]);
        let entries = StructArray::try_new(fields, vec![keys, values], None)?;
        if is_list {
            return self.ends.finish_lists(Arc::new(entries));
        }
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let (offsets, nulls) = self.ends.finish();
        let maps = MapArray::try_new(field, offsets, entries, nulls, false)?;
        Ok(Arc::new(maps))
    }
}
