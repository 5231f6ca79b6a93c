//! The parts of a partition update, as slices of its payload (format notes §4.5 to §4.10).

use crate::descriptor::Version;

/// A deletion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// Microseconds; everything with this or an earlier timestamp is deleted.
    pub timestamp_us: i64,
    pub local_deletion_time: LocalDeletionTime,
}

impl Deletion {
    /// Whether the deletion deletes nothing; only the timestamp shows it (§4.5).
    pub fn is_live(&self) -> bool {
        self.timestamp_us == i64::MIN
    }
}

/// Seconds since the epoch on a coordinator's clock: the time of a deletion or of a cell's expiry.
/// Versions 6 and 7 store it signed, later versions unsigned. An invalid value keeps the number
/// that Cassandra's reader of the version returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDeletionTime(pub i64);

impl LocalDeletionTime {
    /// Whether the number means "none" in this version.
    pub fn is_none(self, version: Version) -> bool {
        self.0
            == if version.has_unsigned_deletion_times() {
                i64::from(u32::MAX)
            } else {
                i64::from(i32::MAX)
            }
    }
}

/// Row liveness, which INSERT writes and UPDATE does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    pub timestamp_us: i64,
    /// Present if the row expires.
    pub expiry: Option<Expiry>,
}

/// The TTL and the time of expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    pub ttl_s: i32,
    pub local_deletion_time: LocalDeletionTime,
}

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellState {
    Live,
    Expiring(Expiry),
    Tombstone(LocalDeletionTime),
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'p> {
    /// Index into [`crate::schema::Table::columns`].
    pub column: u32,
    pub state: CellState,
    pub timestamp_us: i64,
    /// The element of a multi-cell column (§4.8.3).
    pub path: Option<&'p [u8]>,
    /// Empty for tombstones.
    pub value: &'p [u8],
}

/// A row or the static row. Its vectors are reused for each row.
#[derive(Debug, Default)]
pub struct Row<'p> {
    pub is_static: bool,
    /// One value for each clustering column; `None` only in compact tables.
    pub clustering: Vec<Option<&'p [u8]>>,
    pub liveness: Option<Liveness>,
    pub deletion: Option<Deletion>,
    /// Deprecated kind of row deletion, which old releases write for views.
    pub deletion_is_shadowable: bool,
    /// Column index and deletion, in column order, without deletions that delete nothing.
    pub complex_deletions: Vec<(u32, Deletion)>,
    /// In storage order: by column, then by path.
    pub cells: Vec<Cell<'p>>,
}

impl Row<'_> {
    /// Whether the row contains no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
            && self.liveness.is_none()
            && self.deletion.is_none()
            && self.complex_deletions.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.is_static = false;
        self.clustering.clear();
        self.liveness = None;
        self.deletion = None;
        self.deletion_is_shadowable = false;
        self.complex_deletions.clear();
        self.cells.clear();
    }
}

/// Kind of a range-tombstone marker (`ClusteringPrefix.Kind`). Start and end are in storage order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundKind {
    ExclusiveEnd,
    InclusiveStart,
    InclusiveEnd,
    ExclusiveStart,
    /// Ends a range exclusively and starts a range inclusively at the same position.
    ExclusiveEndInclusiveStart,
    /// Ends a range inclusively and starts a range exclusively at the same position.
    InclusiveEndExclusiveStart,
}

impl BoundKind {
    pub(crate) fn from_ordinal(ordinal: u8) -> Option<Self> {
        match ordinal {
            0 => Some(Self::ExclusiveEnd),
            1 => Some(Self::InclusiveStart),
            2 => Some(Self::ExclusiveEndInclusiveStart),
            5 => Some(Self::InclusiveEndExclusiveStart),
            6 => Some(Self::InclusiveEnd),
            7 => Some(Self::ExclusiveStart),
            _ => None,
        }
    }

    /// Returns Cassandra's name for the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExclusiveEnd => "EXCL_END_BOUND",
            Self::InclusiveStart => "INCL_START_BOUND",
            Self::InclusiveEnd => "INCL_END_BOUND",
            Self::ExclusiveStart => "EXCL_START_BOUND",
            Self::ExclusiveEndInclusiveStart => "EXCL_END_INCL_START_BOUNDARY",
            Self::InclusiveEndExclusiveStart => "INCL_END_EXCL_START_BOUNDARY",
        }
    }

    /// Returns the bound that ends a range, for ends and boundaries.
    pub fn closing(self) -> Option<Self> {
        match self {
            Self::ExclusiveEnd | Self::ExclusiveEndInclusiveStart => Some(Self::ExclusiveEnd),
            Self::InclusiveEnd | Self::InclusiveEndExclusiveStart => Some(Self::InclusiveEnd),
            Self::InclusiveStart | Self::ExclusiveStart => None,
        }
    }

    /// Returns the bound that starts a range, for starts and boundaries.
    pub fn opening(self) -> Option<Self> {
        match self {
            Self::InclusiveStart | Self::ExclusiveEndInclusiveStart => Some(Self::InclusiveStart),
            Self::ExclusiveStart | Self::InclusiveEndExclusiveStart => Some(Self::ExclusiveStart),
            Self::ExclusiveEnd | Self::InclusiveEnd => None,
        }
    }
}

/// A range-tombstone marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'p> {
    pub kind: BoundKind,
    /// A clustering prefix, possibly empty.
    pub clustering: Vec<Option<&'p [u8]>>,
    /// Deletion of the range that ends here.
    pub close: Option<Deletion>,
    /// Deletion of the range that starts here.
    pub open: Option<Deletion>,
}

/// An item of a partition update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfiltered<'p> {
    /// The row is in the caller's buffer.
    Row,
    /// Boxed, because markers are rare.
    Marker(Box<Marker<'p>>),
}
