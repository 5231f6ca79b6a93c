//! Errors in payloads and segments.

use crate::table_id::TableId;

/// A payload that violates the format or does not match the schema.
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

/// A column name in a payload that the table's schema does not contain.
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
    /// Returns the error for a number that is out of range.
    #[cold]
    #[allow(clippy::unnecessary_box_returns)] // `Result` has a boxed error.
    pub(crate) fn out_of_range(subject: &'static str, value: impl Into<u64>) -> Box<Self> {
        let value = value.into();
        Box::new(Self::OutOfRange { subject, value })
    }

    /// Whether the payload certainly needs a different schema.
    ///
    /// A wrong column type can also cause any other error, but so can damage.
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
    /// The header is not complete yet, which is normal for a new segment.
    #[error("{segment}: the header is incomplete ({length} bytes)")]
    Incomplete { segment: String, length: u64 },
    #[error("{segment}: {reason}")]
    Unsupported { segment: String, reason: String },
    /// The file cannot be the segment that its name identifies, even if it is still being written.
    #[error("{segment}: {reason}")]
    Foreign { segment: String, reason: String },
    /// The key of an encrypted segment is missing or wrong.
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

/// The error is boxed so that the cursor's results fit into two registers.
pub type Result<T> = std::result::Result<T, Box<DecodeError>>;
