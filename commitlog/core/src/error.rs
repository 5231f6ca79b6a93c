//! What can be wrong with bytes.

use crate::table_id::TableId;

/// A payload that does not follow the format, or that needs a schema which is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("{wanted} more bytes expected, {left} left")]
    Truncated { wanted: usize, left: usize },
    #[error("{subject}: {value} is out of range")]
    OutOfRange { subject: &'static str, value: u64 },
    #[error("{left} bytes left after the last partition update")]
    TrailingBytes { left: usize },
    #[error("columns of table {table} had several types, and the bytes fit more than one of them")]
    UndecidedTypes { table: String },
    #[error("table {0} is not in the schema")]
    UnknownTable(TableId),
    #[error("{0}")]
    UnknownColumn(UnknownColumn),
    #[error("table {table} has no column with the id {id}")]
    UnknownColumnId { table: TableId, id: u64 },
}

/// A column name on the wire that the table's schema does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {keyspace}.{table} ({id}) has no {kind} column \"{column}\"")]
pub struct UnknownColumn {
    pub id: TableId,
    pub keyspace: String,
    pub table: String,
    pub kind: &'static str,
    pub column: String,
}

impl DecodeError {
    /// A number out of its range.
    #[cold]
    #[allow(clippy::unnecessary_box_returns)] // As `Result` wants it.
    pub(crate) fn out_of_range(subject: &'static str, value: impl Into<u64>) -> Box<Self> {
        let value = value.into();
        Box::new(Self::OutOfRange { subject, value })
    }

    /// Whether another schema may make the payload readable.
    ///
    /// A wrong type shows as any kind of nonsense, so every error may; these are the ones that
    /// are certain.
    pub fn asks_for_schema(&self) -> bool {
        matches!(
            self,
            Self::UnknownTable(_) | Self::UnknownColumn(_) | Self::UnknownColumnId { .. }
        )
    }
}

/// A segment that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    #[error("{segment}: {reason}")]
    Corrupt { segment: String, reason: String },
    /// The header is not wholly there yet: normal for a segment that was just made.
    #[error("{segment}: the header is incomplete ({length} bytes)")]
    Incomplete { segment: String, length: u64 },
    #[error("{segment}: {reason}")]
    Unsupported { segment: String, reason: String },
    /// The file is not the segment that its name claims, and never will be.
    #[error("{segment}: {reason}")]
    Foreign { segment: String, reason: String },
    /// The key of an encrypted segment is missing or another one.
    #[error("{segment}: the key \"{alias}\" of this encrypted segment {reason}")]
    Key {
        segment: String,
        alias: String,
        reason: String,
    },
    #[error("{segment}: {error}")]
    Io {
        segment: String,
        error: std::io::Error,
    },
}

/// The error is boxed so that results of the cursor fit two registers.
pub type Result<T> = std::result::Result<T, Box<DecodeError>>;
