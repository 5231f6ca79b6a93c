//! What a CQL value looks like in an event.
//!
//! A value is given as its type and its value bytes (format notes §6.2): what a simple cell, a
//! clustering column or an element of a collection holds, without a length in front. [`json`]
//! writes it as the JSON of an event, [`text`] as the text of a range bound. Everything appends
//! to a buffer of the caller; the JSON of a scalar allocates nothing else, save for a `decimal` or
//! `varint` of more than 16 bytes and for a subnormal float.

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

/// Whether a value of zero bytes is one that is shown.
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
    /// A JSON number of all digits.
    Digits,
}

/// How `duration` is written (`duration.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DurationMode {
    /// Nanoseconds, a month as 30 days.
    #[default]
    Nanos,
    /// `{"months":n,"days":n,"nanoseconds":n}`.
    Precise,
    /// A string in CQL's short form, `1mo2d3h`.
    String,
}

/// The choices that a value in an event depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValueModes {
    pub decimal: DecimalMode,
    pub varint: VarintMode,
    pub duration: DurationMode,
}

impl ValueModes {
    /// The same with exact varints as numbers.
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

/// Most digits, plus or minus three, that a `decimal` or `varint` is printed with; without a limit
/// a few bytes of scale would ask for gigabytes of zeros.
pub const MAX_DIGITS: u64 = 100_000;
