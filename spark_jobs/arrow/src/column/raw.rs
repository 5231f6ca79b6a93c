use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use commitlog_core::cql_type::CqlType;

use super::{Column, Element, ListEnds, check_room, not_multi_cell, offset};
use crate::Misfit;

/// Undecoded elements, in the order of the input.
#[derive(Debug, Default)]
pub struct RawElements {
    paths: BinaryBuilder,
    values: BinaryBuilder,
    ends: ListEnds,
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
        let total = offset(self.paths.len())?;
        self.ends.end(total, !elements.is_empty());
        Ok(())
    }

    fn rows(&self) -> usize {
        self.ends.rows()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let fields = ["path", "value"].map(|name| Field::new(name, DataType::Binary, true));
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(self.paths.finish()),
            Arc::new(self.values.finish()),
        ];
        let elements = StructArray::try_new(Fields::from_iter(fields), arrays, None)?;
        self.ends.finish_lists(Arc::new(elements))
    }
}
