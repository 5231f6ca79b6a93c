//! Builders of Arrow batches.

mod changes;
mod elements;
mod raw;
mod shown;
mod typed;

pub use changes::{Cause, Change, ChangeRows, ChangedRow};
pub use raw::RawRows;
pub use shown::{Shown, is_change};
pub use typed::{ROW_ID, TypedRows, TypedTable, row_id_field};

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Fields};

use crate::error::{MergeError, Result};

/// The maximum number of rows in a batch.
const MAX_ROWS: usize = 4096;
/// A batch with at least this many bytes is full.
const MAX_BYTES: usize = 8 << 20;
/// The maximum size of a row's values, because the offsets of a batch have 32 bits.
const MAX_ROW_BYTES: usize = 1 << 30;

/// Combines columns, which may contain nulls.
pub fn nullable<const N: usize>(
    columns: [(&str, ArrayRef); N],
    nulls: Option<NullBuffer>,
) -> Result<StructArray> {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let fields: Fields = columns.iter().map(field).collect();
    let arrays = columns.map(|(_, array)| array).to_vec();
    Ok(StructArray::try_new(fields, arrays, nulls)?)
}

/// Tracks the size of a batch.
#[derive(Debug, Default)]
pub struct Room {
    pub rows: usize,
    bytes: usize,
}

impl Room {
    pub fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    /// Adds a row with this many bytes.
    pub fn add_row(&mut self, bytes: usize) -> Result<()> {
        if bytes > MAX_ROW_BYTES {
            return Err(MergeError::Batch(format!(
                "A row has {bytes} bytes; an Arrow batch allows {MAX_ROW_BYTES} for each row. \
                 Leave its table out, or shorten the row."
            )));
        }
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
