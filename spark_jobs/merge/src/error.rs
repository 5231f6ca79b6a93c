use arrow_schema::ArrowError;
use spark_arrow::DecodeError;

/// Why a batch cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// `start` is the beginning of the value.
    #[error("The value {start} {reason}.")]
    Event { start: String, reason: String },
    #[error(
        "The value {context} is not a counter context with a total for each leader, as Cassandra \
         2.1 and later writes it. Leave its table out, and select other tables."
    )]
    CounterContext { context: String },
    #[error(
        "A row state of token {token} is invalid: {reason}. Read states that `compact` of this \
         release or an older one wrote."
    )]
    State { token: i64, reason: &'static str },
    #[error("{0}")]
    Batch(String),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("Arrow rejects a batch: {0}. Report this as an error.")]
    Arrow(#[from] ArrowError),
}

pub type Result<T, E = MergeError> = std::result::Result<T, E>;
