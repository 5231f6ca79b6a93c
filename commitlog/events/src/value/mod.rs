//! Encodes CQL values for events.
//!
//! A value is given as its type and its bytes (format notes §6.2): the content of a simple cell, a
//! clustering column or a collection element, without a length prefix. [`json`] writes the JSON of
//! an event, [`text`] the text of a range bound. Both append to the caller's buffer. The JSON of a
//! scalar allocates nothing else, except for subnormal floats and for a `decimal` or `varint` of
//! more than 16 bytes.

pub mod calendar;
mod counter;
mod cql_name;
pub mod decimal;
mod duration;
mod error;
mod hex;
mod inet;
pub mod json;
mod reader;
mod shortest;
pub mod text;

pub use counter::counter_total;
pub use cql_name::cql_name;
pub use duration::Duration;
pub use error::{Problem, Result, ValueError};
pub(crate) use hex::write_uuid;
pub(crate) use inet::write_host_address;
pub use reader::{ValueReader, fixed};

use commitlog_core::cql_type::CqlType;

/// Returns whether a value of zero bytes is shown as an empty value instead of null.
#[inline]
pub(crate) fn has_empty(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Custom(_)
    )
}

/// How `decimal` is written (`decimal.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalMode {
    /// The nearest double; digits beyond its 53 bits are lost.
    #[default]
    Double,
    /// `{"scale":n,"value":"<base64 of the unscaled two's complement>"}`.
    Precise,
    /// A string of plain digits, without an exponent.
    String,
}

/// How `varint` is written (`varint.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VarintMode {
    /// The low 64 bits as a signed number; higher bits are lost.
    #[default]
    Long,
    /// Base64 of the shortest two's complement.
    Precise,
    /// A string of digits.
    String,
    /// A JSON number with all digits.
    Digits,
}

/// How `duration` is written (`duration.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurationMode {
    /// Nanoseconds, with 30 days per month.
    #[default]
    Nanos,
    /// `{"months":n,"days":n,"nanoseconds":n}`.
    Precise,
    /// A string in CQL's short form, `1mo2d3h`.
    String,
}

/// The handling modes of values in events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValueModes {
    pub decimal: DecimalMode,
    pub varint: VarintMode,
    pub duration: DurationMode,
}

impl ValueModes {
    /// Returns these modes with exact varints as JSON numbers.
    #[must_use]
    pub fn with_digits(self) -> Self {
        match self.varint {
            VarintMode::Precise => Self {
                varint: VarintMode::Digits,
                ..self
            },
            _ => self,
        }
    }
}

/// Maximum number of digits in a printed `decimal` or `varint`, give or take three. Without a
/// limit, a few bytes of scale would require gigabytes of zeros.
pub const MAX_DIGITS: u64 = 100_000;
