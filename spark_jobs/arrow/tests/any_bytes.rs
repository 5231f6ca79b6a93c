//! Any bytes of any type are decoded or rejected, without a panic, and every appended row remains.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use spark_arrow::{Column, Element, Rendering, column};

fn scalar() -> impl Strategy<Value = CqlType> {
    prop::sample::select(vec![
        CqlType::Ascii,
        CqlType::BigInt,
        CqlType::Blob,
        CqlType::Boolean,
        CqlType::Counter,
        CqlType::Date,
        CqlType::Decimal,
        CqlType::Double,
        CqlType::Duration,
        CqlType::Empty,
        CqlType::Float,
        CqlType::Inet,
        CqlType::Int,
        CqlType::SmallInt,
        CqlType::Text,
        CqlType::Time,
        CqlType::Timestamp,
        CqlType::TimeUuid,
        CqlType::TinyInt,
        CqlType::Uuid,
        CqlType::VarInt,
        CqlType::Custom("a.b.C".to_owned()),
    ])
}

fn user_type(fields: Vec<CqlType>) -> CqlType {
    let fields = fields.into_iter().enumerate();
    CqlType::Udt(Arc::new(UserType {
        keyspace: "k".to_owned(),
        name: "u".to_owned(),
        fields: fields
            .map(|(number, cql_type)| UserTypeField {
                name: format!("f{number}"),
                cql_type,
            })
            .collect(),
    }))
}

fn any_type() -> impl Strategy<Value = CqlType> {
    scalar().prop_recursive(3, 8, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(CqlType::List),
            boxed.clone().prop_map(CqlType::Set),
            (boxed.clone(), boxed.clone()).prop_map(|(key, value)| CqlType::Map(key, value)),
            (boxed, 1_u32..4).prop_map(|(element, dimension)| CqlType::Vector(element, dimension)),
            vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
            vec(inner, 1..4).prop_map(user_type),
        ]
    })
}

fn any_rendering() -> impl Strategy<Value = Rendering> {
    let decimal = (1_u8..=38).prop_flat_map(|precision| {
        (0..=precision.cast_signed()).prop_map(move |scale| Rendering::Decimal { precision, scale })
    });
    prop_oneof![Just(Rendering::Typed), decimal]
}

/// Random bytes, some of them with the beginning of a collection.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let sized = vec(0_u8..6, 0..30).prop_map(|bytes| {
        let words = bytes.into_iter().flat_map(|byte| [0, 0, 0, byte]);
        words.collect()
    });
    prop_oneof![vec(any::<u8>(), 0..40), sized]
}

fn finish(
    mut array: Box<dyn Column>,
    cql_type: &CqlType,
    rendering: Rendering,
    rows: usize,
) -> Result<(), TestCaseError> {
    let array = array
        .finish()
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(array.len(), rows);
    let empty = column(cql_type, rendering).finish();
    prop_assert!(empty.is_ok_and(|empty| empty.data_type() == array.data_type()));
    prop_assert!(array.to_data().validate_full().is_ok());
    Ok(())
}

proptest! {
    #[test]
    fn any_values_are_decoded_or_rejected(
        cql_type in any_type(),
        rendering in any_rendering(),
        values in vec(option::of(any_bytes()), 0..4),
    ) {
        let mut array = column(&cql_type, rendering);
        let mut appended = values.iter().map(|value| array.append(value.as_deref()));
        if appended.all(|result| result.is_ok()) {
            finish(array, &cql_type, rendering, values.len())?;
        }
    }

    #[test]
    fn any_elements_are_decoded_or_rejected(
        cql_type in any_type(),
        rendering in any_rendering(),
        rows in vec(vec((any_bytes(), option::of(any_bytes())), 0..4), 0..4),
    ) {
        let mut array = column(&cql_type, rendering);
        let mut appended = rows.iter().map(|row| {
            let mut elements: Vec<_> = row
                .iter()
                .map(|(path, value)| Element { path, value: value.as_deref() })
                .collect();
            array.append_elements(&mut elements)
        });
        if appended.all(|result| result.is_ok()) {
            finish(array, &cql_type, rendering, rows.len())?;
        }
    }
}
