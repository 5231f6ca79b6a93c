//! One change event before it is encoded.

use commitlog_core::row::{BoundKind, Cell, CellState, Deletion, Row};

use crate::operation::Op;

/// Stands for an unknown write time in a snapshot; older than any time that a client can write.
pub const OLDEST_US: i64 = i64::MIN + 1;

/// The scope of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Row,
    Static,
    Partition,
    Range,
}

impl Kind {
    /// All kinds in declaration order.
    pub const ALL: [Self; 4] = [Self::Row, Self::Static, Self::Partition, Self::Range];

    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Static => "static",
            Self::Partition => "partition",
            Self::Range => "range",
        }
    }
}

/// One side of a range.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a, 'p> {
    /// A start or an end, never a boundary.
    pub kind: BoundKind,
    /// A prefix of the clustering key.
    pub clustering: &'a [Option<&'p [u8]>],
}

/// The content of an event.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a, 'p> {
    PartitionDeletion(Deletion),
    /// A deletion of the row with this clustering key.
    RowDeletion {
        clustering: &'a [Option<&'p [u8]>],
        deletion: Deletion,
    },
    /// A write to a row or the static row: everything in `row` except its deletion.
    Write(&'a Row<'p>),
    RangeDeletion {
        start: Bound<'a, 'p>,
        end: Bound<'a, 'p>,
        deletion: Deletion,
    },
}

impl Content<'_, '_> {
    pub fn kind(&self) -> Kind {
        match self {
            Self::PartitionDeletion(_) => Kind::Partition,
            Self::Write(row) if row.is_static => Kind::Static,
            Self::RowDeletion { .. } | Self::Write(_) => Kind::Row,
            Self::RangeDeletion { .. } => Kind::Range,
        }
    }

    /// `is_dense`: each row of the table is a single cell, whose deletion deletes the row.
    pub fn op(&self, is_dense: bool) -> Op {
        match self {
            Self::PartitionDeletion(_) | Self::RowDeletion { .. } => Op::Delete,
            Self::Write(row) if row.liveness.is_some() => Op::Insert,
            Self::Write(row) if is_dense && has_deleted_value(row) => Op::Delete,
            Self::Write(_) => Op::Update,
            Self::RangeDeletion { .. } => Op::Range,
        }
    }

    /// Returns the largest write time in microseconds. It is 0 for an empty row, which an UPDATE
    /// without changes writes.
    pub fn timestamp_us(&self) -> i64 {
        match self {
            Self::PartitionDeletion(deletion)
            | Self::RowDeletion { deletion, .. }
            | Self::RangeDeletion { deletion, .. } => deletion.timestamp_us,
            Self::Write(row) => {
                let liveness = row.liveness.iter().map(|liveness| liveness.timestamp_us);
                let deletions = row.complex_deletions.iter().map(|(_, d)| d.timestamp_us);
                let cells = row.cells.iter().map(|cell| cell.timestamp_us);
                liveness.chain(deletions).chain(cells).max().unwrap_or(0)
            }
        }
    }
}

/// Returns whether a row of a dense table is deleted: its only cell is a tombstone.
// Few tables are dense.
#[cold]
#[inline(never)]
fn has_deleted_value(row: &Row<'_>) -> bool {
    let mut cells = row.cells.iter();
    let is_tombstone = |cell: &Cell<'_>| matches!(cell.state, CellState::Tombstone(_));
    !row.is_static && cells.next().is_some_and(is_tombstone) && cells.next().is_none()
}
