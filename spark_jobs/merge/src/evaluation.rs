//! The interface between a session and the evaluation of its partitions.

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::columns::Columns;
use crate::error::Result;
use crate::partition::{Partition, Store};

/// A partition with sorted rows, and the data that it shares with others.
#[derive(Clone, Copy)]
pub struct View<'g> {
    pub token: i64,
    pub partition: &'g Partition,
    pub store: &'g Store,
    pub columns: &'g Columns,
}

/// Evaluates partitions, row by row.
pub trait Evaluation: Send + Sync {
    /// The columns of the output.
    fn fields(&self) -> Fields;
    /// Begins a partition.
    fn begin(&mut self, view: View<'_>) -> Result<()>;
    /// Evaluates the next row. Returns false at the end of the partition.
    fn advance(&mut self, view: View<'_>) -> Result<bool>;
    /// Takes a full batch, or with `is_last` the remaining rows. `None` if there is no such batch.
    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>>;
}
