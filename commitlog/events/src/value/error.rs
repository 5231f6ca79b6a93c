use commitlog_core::cql_type::CqlType;

use super::cql_name::cql_name;

/// A value whose bytes do not fit its type, or that cannot be written in the form asked for.
///
/// The usual cause is a schema that is older or newer than the write; bytes that the server
/// accepted always fit the type that they were written with.
///
/// Behind a pointer, so that a value that is well, as nearly all are, costs no more than a register.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct ValueError(Box<Problem>);

pub type Result<T, E = ValueError> = std::result::Result<T, E>;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Lengths in bytes; `expected` is prose ("4", "4 or 16", "at least 5").
    #[error("{cql_type} value: {actual} bytes; expected {expected}")]
    Length {
        cql_type: String,
        expected: String,
        actual: usize,
    },
    /// An inner length reaches past the end of the value.
    #[error("{cql_type} value of {length} bytes: truncated at byte {position}")]
    Truncated {
        cql_type: String,
        length: usize,
        position: usize,
    },
    /// Bytes are left after the last element that the type has room for.
    #[error("{cql_type} value of {length} bytes: {excess} surplus bytes")]
    Excess {
        cql_type: String,
        length: usize,
        excess: usize,
    },
    /// A collection with a negative number of elements.
    #[error("{cql_type} value: a negative element count, {count}")]
    Count { cql_type: String, count: i32 },
    /// A part of a `duration` that does not fit 32 bits.
    #[error("{cql_type} value: {number} is out of range")]
    Range { cql_type: String, number: i64 },
    /// A cell path that names no field of the user-defined type.
    #[error("{cql_type} value: no field {index}; the type has {fields}")]
    UnknownField {
        cql_type: String,
        index: u16,
        fields: usize,
    },
    /// More than [`super::MAX_DIGITS`] digits would be printed.
    #[error("{cql_type} value: {digits} digits exceed the limit of {limit}")]
    Digits {
        cql_type: String,
        digits: u64,
        limit: u64,
    },
    /// Cells with paths of a type that is never stored cell by cell.
    #[error("{cql_type} is not a multi-cell type")]
    NotMultiCell { cql_type: String },
}

impl ValueError {
    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.0
    }

    #[cold]
    pub fn length(ty: &CqlType, expected: &(impl ToString + ?Sized), actual: usize) -> Self {
        Self(Box::new(Problem::Length {
            cql_type: cql_name(ty),
            expected: expected.to_string(),
            actual,
        }))
    }

    #[cold]
    pub fn truncated(ty: &CqlType, length: usize, position: usize) -> Self {
        Self(Box::new(Problem::Truncated {
            cql_type: cql_name(ty),
            length,
            position,
        }))
    }

    #[cold]
    pub fn excess(ty: &CqlType, length: usize, excess: usize) -> Self {
        Self(Box::new(Problem::Excess {
            cql_type: cql_name(ty),
            length,
            excess,
        }))
    }

    #[cold]
    pub fn count(ty: &CqlType, count: i32) -> Self {
        Self(Box::new(Problem::Count {
            cql_type: cql_name(ty),
            count,
        }))
    }

    #[cold]
    pub fn range(ty: &CqlType, number: i64) -> Self {
        Self(Box::new(Problem::Range {
            cql_type: cql_name(ty),
            number,
        }))
    }

    #[cold]
    pub fn unknown_field(ty: &CqlType, index: u16, fields: usize) -> Self {
        Self(Box::new(Problem::UnknownField {
            cql_type: cql_name(ty),
            index,
            fields,
        }))
    }

    #[cold]
    pub fn digits(ty: &CqlType, digits: u64) -> Self {
        Self(Box::new(Problem::Digits {
            cql_type: cql_name(ty),
            digits,
            limit: super::MAX_DIGITS,
        }))
    }

    #[cold]
    pub fn not_multi_cell(ty: &CqlType) -> Self {
        Self(Box::new(Problem::NotMultiCell {
            cql_type: cql_name(ty),
        }))
    }
}
