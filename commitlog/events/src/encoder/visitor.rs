//! The parts of an event, in the order in which a walk reports them.

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

/// The side of a range deletion that a bound closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeSide {
    Start,
    End,
}

/// The columns of a table in one encoding.
pub(crate) struct Fields<'w, F> {
    pub partition_key: &'w [F],
    pub clustering: &'w [F],
    /// Those of [`Table::columns`].
    pub columns: &'w [F],
    /// The table under the names and types of the encoding.
    pub table: &'w Table,
}

impl<'w, F> Fields<'w, F> {
    /// `fields` has one for each partition-key column, clustering column and other column.
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

/// What [`EventVisitor::source`] writes.
pub(crate) struct SourceFields {
    pub op: Op,
    pub timestamp_us: i64,
    pub is_snapshot: bool,
    /// Logical end of the mutation; [`super::NO_POSITION`] of a snapshot.
    pub position: i64,
}

/// An encoding of events. [`super::walk`] decides which parts an event has and in which order; a
/// visitor decides how each of them looks.
///
/// The writer passes through every method by value, so that it stays in registers.
pub(crate) trait EventVisitor<'w>: CellsVisitor {
    /// A column as a member of the key and of `after`, prepared once for each table.
    type Field: 'w;

    /// Whether `cells` comes before `after`.
    const CELLS_FIRST: bool;

    fn plan(&self) -> &'w TablePlan;
    fn fields(&self) -> Fields<'w, Self::Field>;
    fn scratch(&mut self) -> &mut Scratch;

    // The message key.

    fn key_start<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// The `index`th of all key columns; `None` where the event has no value for it.
    fn key_value<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        field: &Self::Field,
        column: &Column,
        value: Option<&[u8]>,
    ) -> Written<'b>;

    // The envelope.

    /// Everything before `after` and `cells`.
    fn source<'b>(&mut self, out: Out<'b>, fields: &SourceFields) -> Out<'b>;

    // `after`.

    /// The `index`th of all key columns, with its value.
    fn key_column<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        field: &Self::Field,
        column: &Column,
        value: &[u8],
    ) -> Written<'b>;
    /// A column that the event does not write; a clustering column that it does not have.
    fn null_column<'b>(&mut self, out: Out<'b>, field: &Self::Field) -> Out<'b>;
    /// A column that the event cannot have: it was dropped, or another version of it is written.
    fn no_column<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// A column that a deletion covers; a clustering column of a partition's deletion.
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
    /// A column with a cell tombstone.
    fn tombstone_column<'b>(&mut self, out: Out<'b>, field: &Self::Field) -> Out<'b>;
    /// A counter: the shards of its cell, not its value.
    fn counter_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        shards: &[CounterDelta],
    ) -> Out<'b>;
    /// A collection or user type of several cells: the elements that were written or removed.
    fn elements_column<'b>(
        &mut self,
        out: Out<'b>,
        field: &Self::Field,
        column: &Column,
        cells: &[Cell<'_>],
    ) -> Written<'b>;

    fn no_range<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// One bound with its number of values.
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
    /// The next `members` members of `cells` do not apply.
    fn absent<'b>(&mut self, out: Out<'b>, members: usize) -> Out<'b>;
    /// `ck` and `ckv`. [`Scratch::comparable`] holds the byte-comparable form.
    fn clustering<'b>(&mut self, out: Out<'b>, values: &[Option<&[u8]>]) -> Out<'b>;
    /// `lo` or `hi`. [`Scratch::comparable`] holds the byte-comparable form.
    fn range_bound<'b>(&mut self, out: Out<'b>, side: RangeSide) -> Out<'b>;
    /// `live`.
    fn liveness<'b>(&mut self, out: Out<'b>, liveness: Liveness) -> Out<'b>;
    /// `del`.
    fn deletion<'b>(&mut self, out: Out<'b>, deletion: Deletion) -> Out<'b>;
    /// `cdel`, with its number of deletions.
    fn collection_deletions<'b>(&mut self, out: Out<'b>, count: usize) -> Out<'b>;
    fn collection_deletion<'b>(
        &mut self,
        out: Out<'b>,
        index: usize,
        column: u32,
        deletion: Deletion,
    ) -> Out<'b>;
    /// `cell`, with its number of cells.
    fn cell_array<'b>(&mut self, out: Out<'b>, count: usize) -> Out<'b>;
    /// One cell. An element that does not fit its type is kept in [`Scratch::element_error`]:
    /// a result for every cell would go through memory.
    fn cell<'b>(&mut self, out: Out<'b>, index: usize, cell: &Cell<'_>) -> Out<'b>;
    fn array_end<'b>(&mut self, out: Out<'b>) -> Out<'b>;
    /// The end of a key, a value, `after`, `cells` or a bound.
    fn object_end<'b>(&mut self, out: Out<'b>) -> Out<'b>;
}
