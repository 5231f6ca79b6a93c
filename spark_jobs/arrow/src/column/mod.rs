//! Array builders, one file per kind of column.

mod boolean;
mod bytes;
mod decimal;
mod duration;
mod fields;
mod fixed;
mod list;
mod map;
mod order;
mod printed;
mod raw;

use arrow_array::ArrayRef;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_schema::ArrowError;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, counter_total, fixed as exactly};

pub(crate) use raw::RawElements;

use crate::{Misfit, Rendering};

/// A cell of a multi-cell column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// List cell's time UUID, set element, map key or field number (format notes §4.8.3).
    pub path: &'a [u8],
    /// `None` means null. Unused in sets.
    pub value: Option<&'a [u8]>,
}

/// Implements the rest of [`Column`] for single-cell values; `self.builder` builds the array.
macro_rules! one_cell {
    () => {
        fn append_elements(&mut self, _: &mut [$crate::column::Element<'_>]) -> Result<(), Misfit> {
            Err($crate::column::not_multi_cell(&self.cql_type))
        }

        fn rows(&self) -> usize {
            self.builder.len()
        }

        fn finish(&mut self) -> Result<arrow_array::ArrayRef, arrow_schema::ArrowError> {
            Ok(std::sync::Arc::new(self.builder.finish()))
        }
    };
}
use one_cell;

/// Builds a typed array, one value at a time.
///
/// After an error, discard the column.
pub trait Column {
    /// Appends a serialized value (format notes §6.2, without its length); `None` means null. Zero
    /// bytes mean an empty text or blob, but null for every other type.
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit>;

    /// Appends one value from its elements, in any order. No elements mean null.
    fn append_elements(&mut self, elements: &mut [Element<'_>]) -> Result<(), Misfit>;

    /// The number of values so far, including nulls.
    fn rows(&self) -> usize;

    /// Returns the array and resets the column.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// Creates an empty column for values of a type.
pub fn column(cql_type: &CqlType, rendering: Rendering) -> Box<dyn Column> {
    match (cql_type, rendering) {
        (CqlType::Ascii | CqlType::Text, _) => Box::new(bytes::Text::new(cql_type)),
        (CqlType::Blob | CqlType::Custom(_) | CqlType::Empty, _) => {
            Box::new(bytes::Binary::new(cql_type))
        }
        (CqlType::Boolean, _) => Box::new(boolean::Boolean::default()),
        (CqlType::TinyInt, _) => fixed::boxed::<Int8Type>(cql_type, |bytes| {
            Ok(i8::from_be_bytes(exactly(&CqlType::TinyInt, bytes)?))
        }),
        (CqlType::SmallInt, _) => fixed::boxed::<Int16Type>(cql_type, |bytes| {
            Ok(i16::from_be_bytes(exactly(&CqlType::SmallInt, bytes)?))
        }),
        (CqlType::Int, _) => fixed::boxed::<Int32Type>(cql_type, |bytes| {
            Ok(i32::from_be_bytes(exactly(&CqlType::Int, bytes)?))
        }),
        (CqlType::BigInt, _) => fixed::boxed::<Int64Type>(cql_type, |bytes| {
            Ok(i64::from_be_bytes(exactly(&CqlType::BigInt, bytes)?))
        }),
        (CqlType::Time, _) => fixed::boxed::<Int64Type>(cql_type, |bytes| {
            Ok(i64::from_be_bytes(exactly(&CqlType::Time, bytes)?))
        }),
        (CqlType::Counter, _) => {
            fixed::boxed::<Int64Type>(cql_type, |bytes| Ok(read_counter(bytes)?))
        }
        (CqlType::Float, _) => fixed::boxed::<Float32Type>(cql_type, |bytes| {
            Ok(f32::from_be_bytes(exactly(&CqlType::Float, bytes)?))
        }),
        (CqlType::Double, _) => fixed::boxed::<Float64Type>(cql_type, |bytes| {
            Ok(f64::from_be_bytes(exactly(&CqlType::Double, bytes)?))
        }),
        // 1970-01-01 is stored as 2^31.
        (CqlType::Date, _) => fixed::boxed::<Date32Type>(cql_type, |bytes| {
            Ok(i32::from_be_bytes(exactly(&CqlType::Date, bytes)?) ^ i32::MIN)
        }),
        (CqlType::Timestamp, _) => {
            fixed::boxed::<TimestampMicrosecondType>(cql_type, read_timestamp)
        }
        (CqlType::Duration, _) => Box::new(duration::Durations::default()),
        (CqlType::Decimal | CqlType::VarInt, Rendering::Decimal { precision, scale }) => {
            Box::new(decimal::Decimals::new(cql_type, precision, scale))
        }
        (
            CqlType::Decimal | CqlType::VarInt | CqlType::Inet | CqlType::Uuid | CqlType::TimeUuid,
            _,
        ) => Box::new(printed::Printed::new(cql_type)),
        (CqlType::List(_) | CqlType::Set(_) | CqlType::Vector(..), _) => {
            Box::new(list::List::new(cql_type, rendering))
        }
        (CqlType::Map(key, value), _) => Box::new(map::Map::new(cql_type, key, value, rendering)),
        (CqlType::Tuple(_) | CqlType::Udt(_), _) => {
            Box::new(fields::Fields::new(cql_type, rendering))
        }
    }
}

/// Reads a total of eight bytes from the native protocol, or sums up a context of shards.
fn read_counter(bytes: &[u8]) -> Result<i64, ValueError> {
    match bytes.try_into() {
        Ok(number) => Ok(i64::from_be_bytes(number)),
        Err(_) => counter_total(bytes),
    }
}

fn read_timestamp(bytes: &[u8]) -> Result<i64, Misfit> {
    let millis = i64::from_be_bytes(exactly(&CqlType::Timestamp, bytes)?);
    millis.checked_mul(1000).ok_or(Misfit::Timestamp { millis })
}

/// Whether zero bytes mean an empty value of the type, not null.
fn has_empty(cql_type: &CqlType) -> bool {
    matches!(
        cql_type,
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Custom(_)
    )
}

fn not_multi_cell(cql_type: &CqlType) -> Misfit {
    ValueError::not_multi_cell(cql_type).into()
}

/// Checks that a total fits the 32-bit offsets of Arrow.
fn check_room(present: usize, more: usize) -> Result<(), Misfit> {
    let total = present.saturating_add(more);
    i32::try_from(total).map(drop).map_err(|_| Misfit::Room)
}

/// Converts a number of elements to an Arrow offset.
fn offset(elements: usize) -> Result<i32, Misfit> {
    i32::try_from(elements).map_err(|_| Misfit::Room)
}
