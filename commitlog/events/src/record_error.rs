//! Errors of mutations that cannot be encoded.

use commitlog_core::error::DecodeError;
use commitlog_core::memory::TooLarge;
use commitlog_core::schema::TableId;

use crate::batch::Blocked;
use crate::value::ValueError;
use event_encoding::schema_ids::UnregisteredSchema;

/// Why a mutation cannot be encoded. Boxed, because such errors are rare.
pub(crate) enum RecordError {
    Decode(DecodeError),
    Value(ValueError),
    Key {
        table: String,
        length: usize,
    },
    /// A range-tombstone marker without its counterpart.
    OpenRange,
    /// The bytes after an update are not an update of the same partition.
    Misplaced,
    /// Schemas of a table do not have an id yet.
    Unregistered {
        table: String,
        schemas: Vec<UnregisteredSchema>,
    },
    /// The events of the mutation exceed the memory limit.
    TooLarge(TooLarge),
    /// The schema-change topic does not contain the definition of the table yet.
    Unannounced,
}

impl From<Box<DecodeError>> for Box<RecordError> {
    fn from(error: Box<DecodeError>) -> Self {
        Self::new(RecordError::Decode(*error))
    }
}

impl From<ValueError> for Box<RecordError> {
    fn from(error: ValueError) -> Self {
        Self::new(RecordError::Value(error))
    }
}

impl RecordError {
    pub fn is_unknown_table(&self) -> bool {
        matches!(self, Self::Decode(DecodeError::UnknownTable(_)))
    }

    /// Describes the blocking record between two logical positions; `table` is the table of the
    /// rejected update.
    pub fn blocked(&self, start: u64, end: u64, table: Option<TableId>) -> Blocked {
        let (table_id, column) = match self {
            Self::Decode(DecodeError::UnknownTable(id)) => (id.to_string(), None),
            Self::Decode(DecodeError::UnknownColumn(unknown)) => {
                (unknown.id.to_string(), Some(unknown.column.clone()))
            }
            _ => (table.map_or_else(String::new, |id| id.to_string()), None),
        };
        let reason = match self {
            Self::Decode(error) if error.asks_for_schema() => error.to_string(),
            Self::Decode(error) => format!("the mutation does not fit the schema: {error}"),
            Self::Value(error) => format!("a value does not fit the schema: {error}"),
            Self::Key { table, length } => {
                format!("a partition key of {length} bytes does not fit table {table}")
            }
            Self::Unregistered { table, .. } => {
                format!("the schemas of table {table} are not in the schema registry")
            }
            Self::Unannounced => {
                "the definition of the table is not in the schema-change topic yet".to_owned()
            }
            Self::TooLarge(refused) => refused.to_string(),
            Self::OpenRange => "a range deletion has no end".to_owned(),
            Self::Misplaced => {
                "the mutation does not fit the schema: an expected partition update is missing"
                    .to_owned()
            }
        };
        let unregistered = match self {
            Self::Unregistered { schemas, .. } => schemas.clone(),
            _ => Vec::new(),
        };
        Blocked {
            start,
            end,
            table_id,
            column,
            reason,
            unregistered,
            is_unannounced: matches!(self, Self::Unannounced),
        }
    }
}
