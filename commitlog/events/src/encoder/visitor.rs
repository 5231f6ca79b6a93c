//! The parts of an event, in the order in which a walk visits them.

use commitlog_core::row::{BoundKind, Cell, Deletion, Expiry, Liveness};
use commitlog_core::schema::{Column, Table};

use super::Scratch;
use crate::counters::CounterDelta;
use crate::event::Kind;
use crate::event_writer::Out;
use crate::operation::Op;
use crate::plan::TablePlan;
use crate::range_bound::BoundValue;
use crate::value::Result;

pub(crate) type Written<'b> = Result<Out<'b>>;

/// The side of a range deletion to which a bound belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeSide {
    Start,
    End,
}

/// The columns of a table in one encoding.
pub(crate) struct Fields<'w, F> {
    pub partition_key: &'w [F],
    pub clustering: &'w [F],
    /// The fields of [`Table::columns`].
    pub columns: &'w [F],
    /// The table with the names that the encoding uses.
    pub table: &'w Table,
}

impl<'w, F> Fields<'w, F> {
    /// Splits the fields of all columns: partition key, clustering, then the others.
    #[inline]
    pub fn new(table: &'w Table, fields: &'w [F]) -> Self {
        let (partition_key, rest) = fields
            .split_at_checked(table.partition_key.len())
            .unwrap_or_default();
        let (clustering, columns) = rest
            .split_at_checked(table.clustering.len())
            .unwrap_or_default();
        Self {
            partition_key,
            clustering,
            columns,
            table,
        }
    }
}

/// The input of [`EventVisitor::source`].
pub(crate) struct SourceFields {
    pub op: Op,
    pub timestamp_us: i64,
    pub is_snapshot: bool,
    /// Logical end of the mutation, or [`super::NO_POSITION`] for a snapshot.
    pub position: i64,
}

/// An encoding of events. [`super::walk`] decides which parts an event contains, in which order. A
/// visitor encodes each part.
///
/// Each method takes and returns the writer by value, so that it stays in registers.
pub(crate) trait EventVisitor<'w>: CellsVisitor {
    /// A column as a member of the key and of `after`, prepared once per table.
    type Field: 'w;

    /// Whether `cells` comes before `after`.
    const CELLS_FIRST: bool;

    fn plan(&self) -> &'w TablePlan;
    fn fields(&self) -> Fields<'w, Self::Field>;
    fn scratch(&mut self) -> &mut Scratch;

    // The message key.

    fn key_start<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// Writes the key column at `index`; `value` is `None` if the event contains no value for it.
    fn key_value<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        field: &Self::Field,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b>;

    // The envelope.

    /// Writes everything before `after` and `cells`.
    fn source<'b>(&mut self, out: Out<'b>, fields: &SourceFields) -> Out<'b>;

    // `after`.

    /// Writes the key column at `index` with its value.
    fn key_column<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        field: &Self::Field,
        column: &Column,
        value: &[u8],
    ) -> Written<'b>;
    /// Writes a column for which the event contains no value.
    fn null_column<'b>(&mut self, out: Out<'b>, field: &Self::Field) -> Out<'b>;
    /// Handles a column that cannot appear: dropped, or present in a different version.
    fn no_column<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// Writes a column that a deletion covers, or a clustering column in a partition deletion.
    fn deleted_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        timestamp_us: i64,
    ) -> Out<'b>;
    fn live_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        column: &Column,
        value: &[u8],
    ) -> Written<'b>;
    fn expiring_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        column: &Column,
        value: &[u8],
        expiry: Expiry,
    ) -> Written<'b>;
    /// Writes a column with a cell tombstone.
    fn tombstone_column<'b>(&mut self, out: Out<'b>, field: &Self::Field) -> Out<'b>;
    /// Writes a counter: the shards of its cell, not its value.
    fn counter_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        shards: &[CounterDelta],
    ) -> Out<'b>;
    /// Writes a multi-cell collection or user type: the written and the removed elements.
    fn elements_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        column: &Column,
        cells: &[Cell<'_>],
    ) -> Written<'b>;

    fn no_range<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// Starts a bound with this number of values.
    fn bound_start<'b>(
        &mut self,
        out: Out<'b>,
        side: RangeSide,
        kind: BoundKind,
        values: usize,
    ) -> Out<'b>;
    fn bound_value<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        value: &BoundValue<'_>,
    ) -> Written<'b>;
}

/// The member `cells`: `ck`, `ckv`, `lo`, `hi`, `live`, `del`, `cdel` and `cell`.
pub(crate) trait CellsVisitor {
    fn cells_start<'b>(&mut self, out: Out<'b>, kind: Kind, key: &[u8], token: i64) -> Out<'b>;
    /// Handles the next `members` members of `cells`, which do not apply.
    fn absent<'b>(&mut self, out: Out<'b>, members: usize) -> Out<'b>;
    /// Writes `ck` and `ckv`. [`Scratch::comparable`] contains the byte-comparable form.
    fn clustering<'b>(&mut self, out: Out<'b>, values: &[Option<&[u8]>]) -> Out<'b>;
    /// Writes `lo` or `hi`. [`Scratch::comparable`] contains the byte-comparable form.
    fn range_bound<'b>(&mut self, out: Out<'b>, side: RangeSide) -> Out<'b>;
    /// Writes `live`.
    fn liveness<'b>(&mut self, out: Out<'b>, liveness: Liveness) -> Out<'b>;
    /// Writes `del`.
    fn deletion<'b>(&mut self, out: Out<'b>, deletion: Deletion) -> Out<'b>;
    /// Starts `cdel` with `count` deletions.
    fn collection_deletions<'b>(&mut self, out: Out<'b>, count: usize) -> Out<'b>;
    fn collection_deletion<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        column: u32,
        deletion: Deletion,
    ) -> Out<'b>;
    /// Starts `cell` with `count` cells.
    fn cell_array<'b>(&mut self, out: Out<'b>, count: usize) -> Out<'b>;
    /// Writes one cell. The error of an element that does not fit its type goes to
    /// [`Scratch::element_error`], because a result for every cell would go through memory.
    fn cell<'b>(&mut self, out: Out<'b>, index: usize, cell: &Cell<'_>) -> Out<'b>;
    fn array_end<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// Ends a key, a value, `after`, `cells` or a bound.
    fn object_end<'b>(&mut self, out: Out<'b>) -> Out<'b>;
}
