//! The interface between a session and the evaluation of its partitions.

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::arena::Span;
use crate::columns::Columns;
use crate::error::Result;
use crate::partition::{Partition, RowWrite, Store};

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
    fn fields(&self) -> Result<Fields>;
    /// Begins a partition.
    fn begin(&mut self, view: View<'_>) -> Result<()>;
    /// Evaluates the row with the clustering key `ck`, given its writes.
    fn evaluate(&mut self, view: View<'_>, ck: Span, writes: &[RowWrite]) -> Result<()>;
    /// Ends a partition, after its rows.
    fn end(&mut self, _view: View<'_>) -> Result<()> {
        Ok(())
    }
    /// Takes a full batch, or with `is_last` the remaining rows. `None` if there is no such batch.
    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>>;
}
