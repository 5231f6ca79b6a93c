//! The walk over an event's structure: which members a key, `after` and `cells` contain, in which
//! order (`docs/reference/event-format.md`).

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{BoundKind, Cell, CellState, Row};
use commitlog_core::schema::{Column, ColumnKind};

use super::visitor::{EventVisitor, RangeSide, SourceFields, Written};
use super::{NO_POSITION, Scratch};
use crate::byte_comparable::{Component, write_bound, write_clustering};
use crate::counters::CounterDelta;
use crate::event::{Bound, Content};
use crate::event_context::EventContext;
use crate::event_writer::Out;
use crate::operation::Op;
use crate::partition::Partition;
use crate::plan::TablePlan;
use crate::range_bound::bound_values;
use crate::row_cells::simple_cells;
use crate::token::token;

/// An event that is walked.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'w, 'p> {
    pub context: &'w EventContext,
    pub partition: &'w Partition<'p>,
    pub content: &'w Content<'w, 'p>,
    pub op: Op,
    pub timestamp_us: i64,
    /// Logical end of the mutation.
    pub position: u64,
    /// The shards of live counter cells, with their columns.
    pub counters: &'w [(u32, Vec<CounterDelta>)],
}

impl Walk<'_, '_> {
    /// Writes the message key: all primary-key columns. Absent clustering columns are null.
    #[inline]
    pub fn key<'w, 'b, V: EventVisitor<'w>>(&self, visitor: &mut V, out: Out<'b>) -> Written<'b> {
        let fields = visitor.fields();
        let mut out = visitor.key_start(out);
        let mut index = 0;
        let columns = fields.table.partition_key.iter();
        let columns = columns.zip(self.partition.values());
        for (field, (column, value)) in fields.partition_key.iter().zip(columns) {
            out = visitor.key_value(out, index, field, column, Some(value))?;
            index += 1;
        }
        let fields = visitor.fields();
        let clustering = clustering_of(self.content);
        let columns = fields.table.clustering.iter().enumerate();
        for (field, (place, column)) in fields.clustering.iter().zip(columns) {
            let value = clustering.get(place).copied().flatten();
            out = visitor.key_value(out, index, field, column, value)?;
            index += 1;
        }
        Ok(visitor.object_end(out))
    }

    /// Writes the message value.
    #[inline]
    pub fn value<'w, 'b, V: EventVisitor<'w>>(&self, visitor: &mut V, out: Out<'b>) -> Written<'b> {
        let is_snapshot = self.context.snapshot_us.is_some();
        let source = SourceFields {
            op: self.op,
            timestamp_us: self.timestamp_us,
            is_snapshot,
            position: if is_snapshot {
                NO_POSITION
            } else {
                self.position as i64
            },
        };
        let mut out = visitor.source(out, &source);
        let has_cells = self.context.format.cells;
        if V::CELLS_FIRST && has_cells {
            out = self.cells(visitor, out)?;
        }
        out = self.image(visitor, out)?;
        if !V::CELLS_FIRST && has_cells {
            out = self.cells(visitor, out)?;
        }
        Ok(visitor.object_end(out))
    }

    #[inline]
    fn image<'w, 'b, V: EventVisitor<'w>>(&self, visitor: &mut V, mut out: Out<'b>) -> Written<'b> {
        let fields = visitor.fields();
        let mut index = 0;
        let columns = fields.table.partition_key.iter();
        let columns = columns.zip(self.partition.values());
        for (field, (column, value)) in fields.partition_key.iter().zip(columns) {
            out = visitor.key_column(out, index, field, column, value)?;
            index += 1;
        }
        let fields = visitor.fields();
        let clustering = clustering_of(self.content);
        let columns = fields.table.clustering.iter().enumerate();
        for (field, (place, column)) in fields.clustering.iter().zip(columns) {
            out = match (clustering.get(place), self.content) {
                (Some(Some(value)), _) => visitor.key_column(out, index, field, column, value)?,
                (_, Content::PartitionDeletion(deletion)) => {
                    visitor.deleted_column(out, field, deletion.timestamp_us)
                }
                _ => visitor.null_column(out, field),
            };
            index += 1;
        }
        out = self.columns(visitor, out)?;
        if let Content::RangeDeletion { start, end, .. } = self.content {
            out = range(visitor, out, RangeSide::Start, start)?;
            out = range(visitor, out, RangeSide::End, end)?;
        } else {
            out = visitor.no_range(out);
        }
        Ok(visitor.object_end(out))
    }

    #[inline]
    fn columns<'w, 'b, V: EventVisitor<'w>>(
        &self,
        visitor: &mut V,
        mut out: Out<'b>,
    ) -> Written<'b> {
        let plan = visitor.plan();
        if let Content::Write(row) = self.content {
            if let Some(cells) = simple_cells(row).filter(|_| plan.is_plain) {
                return self.simple_columns(visitor, out, cells);
            }
            let columns = plan.table.columns.len();
            visitor.scratch().cells.locate(row, columns);
        }
        let fields = visitor.fields();
        let columns = fields.columns.iter().zip(&fields.table.columns);
        for (index, (field, column)) in columns.enumerate() {
            if plan.is_left_out(index as u32) {
                continue;
            }
            out = match self.content {
                Content::Write(row) => {
                    self.write_column(visitor, out, index, field, column, row)?
                }
                _ if column.dropped_at_us.is_some() => visitor.no_column(out),
                Content::PartitionDeletion(deletion) => {
                    visitor.deleted_column(out, field, deletion.timestamp_us)
                }
                // A row deletion does not delete the static row.
                Content::RowDeletion { deletion, .. } if column.kind == ColumnKind::Regular => {
                    visitor.deleted_column(out, field, deletion.timestamp_us)
                }
                _ => visitor.null_column(out, field),
            };
        }
        Ok(out)
    }

    /// Writes columns with at most one cell each, in a table without excluded or re-added columns.
    #[inline]
    fn simple_columns<'w, 'b, V: EventVisitor<'w>>(
        &self,
        visitor: &mut V,
        mut out: Out<'b>,
        cells: &[Cell<'_>],
    ) -> Written<'b> {
        let mut cells = cells.iter().peekable();
        let fields = visitor.fields();
        let columns = fields.columns.iter().zip(&fields.table.columns);
        for (index, (field, column)) in (0_u32..).zip(columns) {
            out = match cells.next_if(|cell| cell.column == index) {
                Some(cell) => self.write_cell(visitor, out, field, column, cell)?,
                None if column.dropped_at_us.is_some() => visitor.no_column(out),
                None => visitor.null_column(out, field),
            };
        }
        Ok(out)
    }

    #[inline]
    fn write_column<'w, 'b, V: EventVisitor<'w>>(
        &self,
        visitor: &mut V,
        out: Out<'b>,
        index: usize,
        field: &V::Field,
        column: &Column,
        row: &Row<'_>,
    ) -> Written<'b> {
        let located = &visitor.scratch().cells;
        if !located.has(index, row) {
            let is_absent = column.dropped_at_us.is_some()
                || visitor.plan().has_versions && is_written_otherwise(visitor, column, row);
            return Ok(if is_absent {
                visitor.no_column(out)
            } else {
                visitor.null_column(out, field)
            });
        }
        let cells = located.cells(index, row);
        if column.multi_cell {
            return visitor.elements_column(out, field, column, cells);
        }
        match cells.first() {
            Some(cell) => self.write_cell(visitor, out, field, column, cell),
            None => Ok(visitor.null_column(out, field)),
        }
    }

    #[inline]
    fn write_cell<'w, 'b, V: EventVisitor<'w>>(
        &self,
        visitor: &mut V,
        out: Out<'b>,
        field: &V::Field,
        column: &Column,
        cell: &Cell<'_>,
    ) -> Written<'b> {
        match cell.state {
            CellState::Live if column.cql_type == CqlType::Counter => {
                let mut counters = self.counters.iter();
                let counter = counters.find(|(column, _)| *column == cell.column);
                let shards = counter.map_or(&[][..], |(_, shards)| shards.as_slice());
                Ok(visitor.counter_column(out, field, shards))
            }
            CellState::Live => visitor.live_column(out, field, column, cell.value),
            CellState::Expiring(expiry) => {
                visitor.expiring_column(out, field, column, cell.value, expiry)
            }
            CellState::Tombstone(_) => Ok(visitor.tombstone_column(out, field)),
        }
    }

    #[inline]
    fn cells<'w, 'b, V: EventVisitor<'w>>(&self, visitor: &mut V, out: Out<'b>) -> Written<'b> {
        let key = self.partition.key;
        let mut out = visitor.cells_start(out, self.content.kind(), key, token(key));
        match self.content {
            Content::PartitionDeletion(deletion) => {
                out = visitor.absent(out, 5);
                out = visitor.deletion(out, *deletion);
                out = visitor.absent(out, 2);
            }
            Content::RowDeletion {
                clustering: values,
                deletion,
            } => {
                out = clustering(visitor, out, values)?;
                out = visitor.absent(out, 3);
                out = visitor.deletion(out, *deletion);
                out = visitor.absent(out, 2);
            }
            Content::Write(row) => {
                out = if row.is_static {
                    visitor.absent(out, 2)
                } else {
                    clustering(visitor, out, &row.clustering)?
                };
                out = visitor.absent(out, 2);
                out = write_cells(visitor, out, row);
                if let Some(error) = visitor.scratch().element_error.take() {
                    return Err(error);
                }
            }
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                out = visitor.absent(out, 2);
                out = range_bound(visitor, out, RangeSide::Start, start)?;
                out = range_bound(visitor, out, RangeSide::End, end)?;
                out = visitor.absent(out, 1);
                out = visitor.deletion(out, *deletion);
                out = visitor.absent(out, 2);
            }
        }
        Ok(visitor.object_end(out))
    }
}

/// Writes one bound in `after`.
fn range<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    out: Out<'b>,
    side: RangeSide,
    bound: &Bound<'_, '_>,
) -> Written<'b> {
    let values = bound_values(&visitor.plan().table, bound);
    let mut out = visitor.bound_start(out, side, bound.kind, values.len());
    for (index, value) in values.enumerate() {
        out = visitor.bound_value(out, index, &value)?;
    }
    out = visitor.array_end(out);
    Ok(visitor.object_end(out))
}

#[inline]
fn clustering<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    out: Out<'b>,
    values: &[Option<&[u8]>],
) -> Written<'b> {
    let plan = visitor.plan();
    let comparable = &mut visitor.scratch().comparable;
    comparable.clear();
    write_clustering(comparable, components(plan, values))?;
    Ok(visitor.clustering(out, values))
}

/// Writes one bound in `cells`.
fn range_bound<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    out: Out<'b>,
    side: RangeSide,
    bound: &Bound<'_, '_>,
) -> Written<'b> {
    // Both bounds of a half-open range lie before or after all keys with their prefix.
    let is_after = matches!(
        bound.kind,
        BoundKind::ExclusiveStart | BoundKind::InclusiveEnd
    );
    let plan = visitor.plan();
    let comparable = &mut visitor.scratch().comparable;
    comparable.clear();
    write_bound(comparable, components(plan, bound.clustering), is_after)?;
    Ok(visitor.range_bound(out, side))
}

/// Writes `live`, `del`, `cdel` and `cell` of a row.
#[inline]
fn write_cells<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    mut out: Out<'b>,
    row: &Row<'_>,
) -> Out<'b> {
    let plan = visitor.plan();
    out = match row.liveness {
        Some(liveness) => visitor.liveness(out, liveness),
        None => visitor.absent(out, 1),
    };
    out = visitor.absent(out, 1);
    out = if row.complex_deletions.is_empty() {
        visitor.absent(out, 1)
    } else {
        collection_deletions(visitor, out, row)
    };
    if !plan.shows_all {
        return write_shown_cells(visitor, out, row);
    }
    if row.cells.is_empty() {
        return visitor.absent(out, 1);
    }
    out = visitor.cell_array(out, row.cells.len());
    for (index, cell) in row.cells.iter().enumerate() {
        out = visitor.cell(out, index, cell);
    }
    visitor.array_end(out)
}

fn collection_deletions<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    mut out: Out<'b>,
    row: &Row<'_>,
) -> Out<'b> {
    let plan = visitor.plan();
    let deletions = row.complex_deletions.iter();
    let deletions = deletions.filter(|(column, _)| !plan.is_left_out(*column));
    let count = deletions.clone().count();
    if count == 0 {
        return visitor.absent(out, 1);
    }
    out = visitor.collection_deletions(out, count);
    for (index, (column, deletion)) in deletions.enumerate() {
        out = visitor.collection_deletion(out, index, *column, *deletion);
    }
    visitor.array_end(out)
}

/// Writes the cells of a row, except cells of excluded columns.
#[cold]
fn write_shown_cells<'w, 'b, V: EventVisitor<'w>>(
    visitor: &mut V,
    mut out: Out<'b>,
    row: &Row<'_>,
) -> Out<'b> {
    let plan = visitor.plan();
    let cells = row.cells.iter();
    let cells = cells.filter(|cell| !plan.is_left_out(cell.column));
    let count = cells.clone().count();
    if count == 0 {
        return visitor.absent(out, 1);
    }
    out = visitor.cell_array(out, count);
    for (index, cell) in cells.enumerate() {
        out = visitor.cell(out, index, cell);
    }
    visitor.array_end(out)
}

/// Returns whether the row writes a different version of the column, whose member replaces it.
#[cold]
fn is_written_otherwise<'w, V: EventVisitor<'w>>(
    visitor: &mut V,
    column: &Column,
    row: &Row<'_>,
) -> bool {
    let versions = visitor.fields().table.columns.iter().enumerate();
    let mut versions = versions.filter(|(_, other)| other.is_namesake(column));
    let cells = &visitor.scratch().cells;
    versions.any(|(index, _)| cells.has(index, row))
}

/// Encodes a set element or map key in byte-comparable form, if equal values of its type may differ
/// in their bytes; otherwise returns `None`. Stores the form in [`Scratch::comparable`], and an
/// error in [`Scratch::element_error`].
#[inline(never)]
pub(crate) fn element_key<'s>(
    plan: &TablePlan,
    scratch: &'s mut Scratch,
    column: u32,
    path: &[u8],
) -> Option<&'s [u8]> {
    let ty = (plan.column_members.get(column as usize)?.element_type).as_ref()?;
    scratch.comparable.clear();
    let element = Component {
        ty,
        reversed: false,
        value: Some(path),
    };
    if let Err(error) = write_clustering(&mut scratch.comparable, [element]) {
        scratch.element_error = Some(error);
    }
    Some(&scratch.comparable)
}

fn components<'c>(
    plan: &'c TablePlan,
    values: &'c [Option<&'c [u8]>],
) -> impl Iterator<Item = Component<'c>> {
    let columns = plan.table.clustering.iter().zip(values);
    columns.map(|(column, value)| Component {
        ty: &column.cql_type,
        reversed: column.reversed,
        value: *value,
    })
}

/// Returns the clustering key of an event's row; empty for a partition, a range and the static
/// row.
#[inline]
fn clustering_of<'a, 'p>(content: &Content<'a, 'p>) -> &'a [Option<&'p [u8]>] {
    match content {
        Content::RowDeletion { clustering, .. } => clustering,
        Content::Write(row) => &row.clustering,
        Content::PartitionDeletion(_) | Content::RangeDeletion { .. } => &[],
    }
}
