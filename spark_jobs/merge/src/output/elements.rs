//! Builders of list arrays.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};

use crate::error::Result;
use crate::state::clustering_values;

/// The ends of lists in a list array.
#[derive(Debug)]
pub struct ListEnds {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for ListEnds {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
        }
    }
}

impl ListEnds {
    /// Ends a list after `items` items in total, whose number [`super::Room`] bounds.
    pub fn end(&mut self, items: usize, is_valid: bool) {
        self.offsets.push(i32::try_from(items).unwrap_or(i32::MAX));
        self.nulls.append(is_valid);
    }

    pub fn finish(&mut self, field: FieldRef, items: ArrayRef) -> Result<ArrayRef> {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let array = ListArray::try_new(field, offsets, items, self.nulls.finish())?;
        Ok(Arc::new(array))
    }
}

/// Lists of raw clustering values.
#[derive(Debug, Default)]
pub struct Clusterings {
    values: BinaryBuilder,
    ends: ListEnds,
}

impl Clusterings {
    pub fn data_type() -> DataType {
        DataType::List(Self::item())
    }

    /// Appends a list that is encoded as in [`crate::state`]; `None` means an empty list.
    pub fn append(&mut self, list: Option<&[u8]>) {
        for value in list.into_iter().flat_map(clustering_values) {
            self.values.append_option(value);
        }
        self.ends.end(self.values.offsets_slice().len() - 1, true);
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let values = Arc::new(self.values.finish());
        self.ends.finish(Self::item(), values)
    }

    fn item() -> FieldRef {
        Arc::new(Field::new("element", DataType::Binary, true))
    }
}

/// Lists of the paths and values of elements.
#[derive(Debug, Default)]
pub struct Elements {
    paths: BinaryBuilder,
    values: BinaryBuilder,
    ends: ListEnds,
}

impl Elements {
    pub fn push(&mut self, path: Option<&[u8]>, value: &[u8]) {
        self.paths.append_option(path);
        self.values.append_value(value);
    }

    pub fn end(&mut self, is_valid: bool) {
        self.ends
            .end(self.values.offsets_slice().len() - 1, is_valid);
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let fields = Fields::from(vec![
            Field::new("path", DataType::Binary, true),
            Field::new("value", DataType::Binary, true),
        ]);
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.paths.finish()),
            Arc::new(self.values.finish()),
        ];
        let items = StructArray::try_new(fields.clone(), arrays, None)?;
        let field = Arc::new(Field::new("element", DataType::Struct(fields), true));
        self.ends.finish(field, Arc::new(items))
    }
}
