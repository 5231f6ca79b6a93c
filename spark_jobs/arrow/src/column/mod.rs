//! Array builders for the columns of each type.

mod cells;
mod decimal;
mod duration;
mod fields;
mod list;
mod list_ends;
mod map;
mod order;
mod raw;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int8Builder, Int16Builder,
    Int32Builder, Int64Builder, TimestampMicrosecondBuilder,
};
use arrow_schema::ArrowError;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, counter_total, fixed};

use cells::{cells, numbers};
pub use list_ends::ListEnds;
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
        (CqlType::Ascii | CqlType::Text, _) => cells::texts(cql_type),
        (CqlType::Blob | CqlType::Custom(_) | CqlType::Empty, _) => cells::blobs(cql_type),
        // Any byte except 0 is true.
        (CqlType::Boolean, _) => {
            let builder = BooleanBuilder::new();
            cells(
                cql_type,
                builder,
                BooleanBuilder::append_null,
                |builder, bytes| {
                    let [byte] = fixed(&CqlType::Boolean, bytes)?;
                    builder.append_value(byte != 0);
                    Ok(())
                },
            )
        }
        (CqlType::TinyInt, _) => numbers(cql_type, Int8Builder::new(), i8::from_be_bytes),
        (CqlType::SmallInt, _) => numbers(cql_type, Int16Builder::new(), i16::from_be_bytes),
        (CqlType::Int, _) => numbers(cql_type, Int32Builder::new(), i32::from_be_bytes),
        (CqlType::BigInt | CqlType::Time, _) => {
            numbers(cql_type, Int64Builder::new(), i64::from_be_bytes)
        }
        (CqlType::Counter, _) => {
            let builder = Int64Builder::new();
            cells(
                cql_type,
                builder,
                Int64Builder::append_null,
                |builder, bytes| {
                    builder.append_value(read_counter(bytes)?);
                    Ok(())
                },
            )
        }
        (CqlType::Float, _) => numbers(cql_type, Float32Builder::new(), f32::from_be_bytes),
        (CqlType::Double, _) => numbers(cql_type, Float64Builder::new(), f64::from_be_bytes),
        // 1970-01-01 is stored as 2^31.
        (CqlType::Date, _) => numbers(cql_type, Date32Builder::new(), |bytes| {
            i32::from_be_bytes(bytes) ^ i32::MIN
        }),
        (CqlType::Timestamp, _) => {
            let builder = TimestampMicrosecondBuilder::new().with_timezone("UTC");
            let append_null = TimestampMicrosecondBuilder::append_null;
            cells(cql_type, builder, append_null, |builder, bytes| {
                builder.append_value(read_timestamp(bytes)?);
                Ok(())
            })
        }
        (CqlType::Duration, _) => Box::new(duration::Durations::default()),
        (CqlType::Decimal | CqlType::VarInt, Rendering::Decimal { precision, scale }) => {
            decimal::decimals(cql_type, precision, scale)
        }
        (
            CqlType::Decimal | CqlType::VarInt | CqlType::Inet | CqlType::Uuid | CqlType::TimeUuid,
            _,
        ) => cells::printed(cql_type),
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
    let millis = i64::from_be_bytes(fixed(&CqlType::Timestamp, bytes)?);
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
