use commitlog_events::value::ValueError;

/// A batch cannot be decoded. `row` counts from 0 within the batch.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    #[error("{table}, column {column}, row {row} of the batch: {cause}")]
    Value {
        table: String,
        column: String,
        row: usize,
        cause: Misfit,
    },
    /// A column of the batch is missing, unknown or of the wrong type, or a rendering is for an
    /// unknown column or one whose type does not support it.
    #[error("{table}, column {column}: {reason}")]
    Batch {
        table: String,
        column: String,
        reason: String,
    },
}

/// Why one value cannot be decoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Misfit {
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("{cql_type} value of {length} bytes: not valid {encoding}")]
    Text {
        cql_type: &'static str,
        encoding: &'static str,
        length: usize,
    },
    #[error("{value} does not fit decimal({precision},{scale}) exactly")]
    Decimal {
        value: String,
        precision: u8,
        scale: i8,
    },
    #[error("timestamp value: {millis} ms do not fit 64-bit microseconds")]
    Timestamp { millis: i64 },
    #[error("{cql_type} value: the map has a null key")]
    NullKey { cql_type: String },
    #[error("a collection element has no path")]
    NoPath,
    #[error("{values} clustering values; the table has {columns} clustering columns")]
    Clustering { values: usize, columns: usize },
    #[error("the values of a batch exceed 2 GiB; use fewer rows")]
    Room,
}
