//! Builders of list arrays.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::BinaryBuilder;
use spark_arrow::ListEnds;

use super::nullable;
use crate::error::Result;
use crate::state::clustering_values;

/// Converts a number of items, which [`super::Room`] bounds, to an Arrow offset.
pub fn offset(items: usize) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}

/// Lists of raw clustering values.
#[derive(Debug, Default)]
pub struct Clusterings {
    values: BinaryBuilder,
    ends: ListEnds,
}

impl Clusterings {
    /// Appends a list that is encoded as in [`crate::state`]; `None` means an empty list.
    pub fn append(&mut self, list: Option<&[u8]>) {
        for value in list.into_iter().flat_map(clustering_values) {
            self.values.append_option(value);
        }
        let values = self.values.offsets_slice().len() - 1;
        self.ends.end(offset(values), true);
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let values = Arc::new(self.values.finish());
        Ok(self.ends.finish_lists(values)?)
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
        let elements = self.values.offsets_slice().len() - 1;
        self.ends.end(offset(elements), is_valid);
    }

    pub fn finish(&mut self) -> Result<ArrayRef> {
        let columns: [(&str, ArrayRef); 2] = [
            ("path", Arc::new(self.paths.finish())),
            ("value", Arc::new(self.values.finish())),
        ];
        let items = nullable(columns, None)?;
        Ok(self.ends.finish_lists(Arc::new(items))?)
    }
}
