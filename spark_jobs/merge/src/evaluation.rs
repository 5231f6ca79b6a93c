//! What a session makes of each partition.

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::columns::Columns;
use crate::error::Result;
use crate::partition::{Partition, Store};

/// A partition whose rows are sorted, with what it shares.
#[derive(Clone, Copy)]
pub struct View<'g> {
    pub token: i64,
    pub partition: &'g Partition,
    pub store: &'g Store,
    pub columns: &'g Columns,
}

/// Evaluates partitions, row by row.
pub trait Evaluation: Send + Sync {
    /// Columns of the output.
    fn fields(&self) -> Fields;
    /// Begins a partition.
    fn begin(&mut self, view: View<'_>) -> Result<()>;
    /// Evaluates the next row; false at the end of the partition.
    fn advance(&mut self, view: View<'_>) -> Result<bool>;
    /// A full batch, or with `is_last` the rest; `None` without one.
    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>>;
}
