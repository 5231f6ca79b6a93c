use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field};

/// The ends of the lists in a list or map array.
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
    /// Ends a list after `items` items in total.
    pub fn end(&mut self, items: i32, is_valid: bool) {
        self.offsets.push(items);
        self.nulls.append(is_valid);
    }

    /// The number of lists.
    pub fn rows(&self) -> usize {
        self.nulls.len()
    }

    pub fn finish(&mut self) -> (OffsetBuffer<i32>, Option<NullBuffer>) {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        (offsets, self.nulls.finish())
    }

    /// Returns the lists of these items. The items have Spark's name, `element`.
    pub fn finish_lists(&mut self, items: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let field = Field::new("element", items.data_type().clone(), true);
        let (offsets, nulls) = self.finish();
        let lists = ListArray::try_new(Arc::new(field), offsets, items, nulls)?;
        Ok(Arc::new(lists))
    }
}
