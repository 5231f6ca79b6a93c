use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use commitlog_core::cql_type::CqlType;

use super::{Column, Element, check_room, not_multi_cell, offset};
use crate::Misfit;
use crate::arrow_type::element_field;

/// Undecoded elements, in the order of the input.
#[derive(Debug)]
pub struct RawElements {
    paths: BinaryBuilder,
    values: BinaryBuilder,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl RawElements {
    pub fn new() -> Self {
        Self {
            paths: BinaryBuilder::new(),
            values: BinaryBuilder::new(),
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
        }
    }

    pub fn data_type() -> DataType {
        DataType::List(element_field(DataType::Struct(Self::fields())))
    }

    fn fields() -> Fields {
        Fields::from(vec![
            Field::new("path", DataType::Binary, true),
            Field::new("value", DataType::Binary, true),
        ])
    }
}

impl Column for RawElements {
    fn append(&mut self, _: Option<&[u8]>) -> Result<(), Misfit> {
        Err(not_multi_cell(&CqlType::Blob))
    }

    fn append_elements(&mut self, elements: &mut [Element<'_>]) -> Result<(), Misfit> {
        for element in elements.iter() {
            let value_length = element.value.map_or(0, <[u8]>::len);
            check_room(self.paths.values_slice().len(), element.path.len())?;
            check_room(self.values.values_slice().len(), value_length)?;
            self.paths.append_value(element.path);
            self.values.append_option(element.value);
        }
        self.offsets.push(offset(self.paths.len())?);
        self.nulls.append(!elements.is_empty());
        Ok(())
    }

    fn rows(&self) -> usize {
        self.nulls.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.paths.finish()),
            Arc::new(self.values.finish()),
        ];
        let elements = StructArray::try_new(Self::fields(), arrays, None)?;
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let array = ListArray::try_new(
            element_field(DataType::Struct(Self::fields())),
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            Arc::new(elements),
            self.nulls.finish(),
        )?;
        Ok(Arc::new(array))
    }
}
