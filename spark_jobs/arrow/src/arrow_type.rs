use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use commitlog_core::cql_type::CqlType;

use crate::Rendering;

/// Maps a CQL type to its Arrow type.
///
/// Nested fields have Spark's names: `element` in a list; `entries`, `key` and `value` in a map.
pub fn arrow_type(cql_type: &CqlType, rendering: Rendering) -> DataType {
    let inner = |ty: &CqlType| arrow_type(ty, rendering);
    match cql_type {
        CqlType::Decimal | CqlType::VarInt => match rendering {
            Rendering::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            _ => DataType::Utf8,
        },
        CqlType::Ascii | CqlType::Text | CqlType::Inet | CqlType::Uuid | CqlType::TimeUuid => {
            DataType::Utf8
        }
        CqlType::BigInt | CqlType::Counter | CqlType::Time => DataType::Int64,
        CqlType::Blob | CqlType::Custom(_) | CqlType::Empty => DataType::Binary,
        CqlType::Boolean => DataType::Boolean,
        CqlType::Date => DataType::Date32,
        CqlType::Double => DataType::Float64,
        CqlType::Duration => DataType::Struct(duration_fields()),
        CqlType::Float => DataType::Float32,
        CqlType::Int => DataType::Int32,
        CqlType::SmallInt => DataType::Int16,
        CqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        CqlType::TinyInt => DataType::Int8,
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
            DataType::List(element_field(inner(element)))
        }
        CqlType::Map(key, value) => {
            let is_pairs = holds_map(key);
            let entries = DataType::Struct(entry_fields(inner(key), inner(value), is_pairs));
            if is_pairs {
                DataType::List(element_field(entries))
            } else {
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
        }
        CqlType::Tuple(_) | CqlType::Udt(_) => {
            let fields = named_fields(cql_type).into_iter();
            DataType::Struct(
                fields
                    .map(|(name, ty)| Field::new(name, inner(ty), true))
                    .collect(),
            )
        }
    }
}

/// Whether a type contains a map. Spark does not allow maps in map keys, so a map with such keys
/// becomes a list of entries.
pub(crate) fn holds_map(cql_type: &CqlType) -> bool {
    match cql_type {
        CqlType::Map(..) => true,
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
            holds_map(element)
        }
        CqlType::Tuple(_) | CqlType::Udt(_) => {
            named_fields(cql_type).iter().any(|(_, ty)| holds_map(ty))
        }
        _ => false,
    }
}

/// The fields of a tuple (`field1`, `field2`, …) or a user type; empty for other types.
pub(crate) fn named_fields(cql_type: &CqlType) -> Vec<(String, &CqlType)> {
    match cql_type {
        CqlType::Tuple(fields) => fields
            .iter()
            .zip(1..)
            .map(|(ty, number): (_, u32)| (format!("field{number}"), ty))
            .collect(),
        CqlType::Udt(user_type) => user_type
            .fields
            .iter()
            .map(|field| (field.name.clone(), &field.cql_type))
            .collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn duration_fields() -> Fields {
    Fields::from(vec![
        Field::new("months", DataType::Int32, true),
        Field::new("days", DataType::Int32, true),
        Field::new("nanoseconds", DataType::Int64, true),
    ])
}

pub(crate) fn element_field(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("element", data_type, true))
}

pub(crate) fn entry_fields(key: DataType, value: DataType, is_key_nullable: bool) -> Fields {
    Fields::from(vec![
        Field::new("key", key, is_key_nullable),
        Field::new("value", value, true),
    ])
}
