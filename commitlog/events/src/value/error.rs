use commitlog_core::cql_type::CqlType;

use super::cql_name::cql_name;

/// A value whose bytes do not fit its type, or that cannot be written in the requested form.
///
/// The usual cause is a schema that is older or newer than the write; bytes that the server
/// accepted always fit the type at the time of the write.
///
/// Boxed, so that the result of a valid value, by far the usual case, fits a register.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {}", .0.0, .0.1)]
pub struct ValueError(Box<(String, Problem)>);

pub type Result<T, E = ValueError> = std::result::Result<T, E>;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Lengths in bytes; `expected` is free text ("4", "4 or 16", "at least 5").
    #[error("value: {actual} bytes; expected {expected}")]
    Length { expected: String, actual: usize },
    /// An inner length reaches past the end of the value.
    #[error("value of {length} bytes: truncated at byte {position}")]
    Truncated { length: usize, position: usize },
    /// Bytes are left after the last element of the type.
    #[error("value of {length} bytes: {excess} surplus bytes")]
    Excess { length: usize, excess: usize },
    /// A collection with a negative number of elements.
    #[error("value: a negative element count, {count}")]
    Count { count: i32 },
    /// A part of a `duration` that does not fit 32 bits.
    #[error("value: {number} is out of range")]
    Range { number: i64 },
    /// A cell path is not the index of a field of the user-defined type.
    #[error("value: no field {index}; the type has {fields}")]
    UnknownField { index: u16, fields: usize },
    /// More than [`super::MAX_DIGITS`] digits would be printed.
    #[error("value: {digits} digits exceed the limit of {limit}")]
    Digits { digits: u64, limit: u64 },
    /// Cells have paths, although their type is never stored cell by cell.
    #[error("is not a multi-cell type")]
    NotMultiCell,
}

impl ValueError {
    #[cold]
    fn new(ty: &CqlType, problem: Problem) -> Self {
        Self(Box::new((cql_name(ty), problem)))
    }

    pub fn problem(&self) -> &Problem {
        &self.0.1
    }

    #[cold]
    pub fn length(ty: &CqlType, expected: &(impl ToString + ?Sized), actual: usize) -> Self {
        let expected = expected.to_string();
        Self::new(ty, Problem::Length { expected, actual })
    }

    #[cold]
    pub fn truncated(ty: &CqlType, length: usize, position: usize) -> Self {
        Self::new(ty, Problem::Truncated { length, position })
    }

    #[cold]
    pub fn excess(ty: &CqlType, length: usize, excess: usize) -> Self {
        Self::new(ty, Problem::Excess { length, excess })
    }

    #[cold]
    pub fn count(ty: &CqlType, count: i32) -> Self {
        Self::new(ty, Problem::Count { count })
    }

    #[cold]
    pub fn range(ty: &CqlType, number: i64) -> Self {
        Self::new(ty, Problem::Range { number })
    }

    #[cold]
    pub fn unknown_field(ty: &CqlType, index: u16, fields: usize) -> Self {
        Self::new(ty, Problem::UnknownField { index, fields })
    }

    #[cold]
    pub fn digits(ty: &CqlType, digits: u64) -> Self {
        let limit = super::MAX_DIGITS;
        Self::new(ty, Problem::Digits { digits, limit })
    }

    #[cold]
    pub fn not_multi_cell(ty: &CqlType) -> Self {
        Self::new(ty, Problem::NotMultiCell)
    }
}
