//! Types, and values of a type that often collide, share beginnings or lie at the edges.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub const SCALARS: [CqlType; 18] = [
    CqlType::Ascii,
    CqlType::BigInt,
    CqlType::Blob,
    CqlType::Boolean,
    CqlType::Date,
    CqlType::Decimal,
    CqlType::Double,
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
];

pub fn cql_type() -> BoxedStrategy<CqlType> {
    select(SCALARS.to_vec())
        .prop_recursive(2, 8, 3, |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            prop_oneof![
                boxed.clone().prop_map(CqlType::List),
                boxed.clone().prop_map(CqlType::Set),
                (boxed.clone(), boxed.clone()).prop_map(|(key, value)| CqlType::Map(key, value)),
                vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
                vec(inner, 1..4).prop_map(user_type),
                (boxed, 1_u32..3)
                    .prop_map(|(element, dimension)| CqlType::Vector(element, dimension)),
            ]
        })
        .boxed()
}

fn user_type(fields: Vec<CqlType>) -> CqlType {
    CqlType::Udt(Arc::new(UserType {
        keyspace: "ks1".to_owned(),
        name: "t".to_owned(),
        fields: fields
            .into_iter()
            .map(|cql_type| UserTypeField {
                name: "f".to_owned(),
                cql_type,
            })
            .collect(),
    }))
}

/// Value bytes; sometimes none where the server allows that.
pub fn value(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    if may_be_empty(ty) {
        return prop_oneof![9 => filled(ty), 1 => Just(Vec::new())].boxed();
    }
    filled(ty)
}

fn may_be_empty(ty: &CqlType) -> bool {
    !matches!(
        ty,
        CqlType::Date | CqlType::Time | CqlType::SmallInt | CqlType::TinyInt | CqlType::Vector(..)
    )
}

fn filled(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    match ty {
        CqlType::Boolean | CqlType::TinyInt => integer(1),
        CqlType::SmallInt => integer(2),
        CqlType::Int | CqlType::Date => integer(4),
        CqlType::BigInt | CqlType::Timestamp | CqlType::Time => integer(8),
        CqlType::Float => floats(4, &[0.0, -0.0, 1.5, -1.5, f64::NAN, f64::INFINITY]),
        CqlType::Double => floats(8, &[0.0, -0.0, 1.5, -1.5, f64::NAN, f64::NEG_INFINITY]),
        CqlType::VarInt => varint(),
        CqlType::Decimal => decimal(),
        CqlType::Inet => prop_oneof![bytes(4), bytes(16)].boxed(),
        CqlType::Uuid => uuid(select(vec![0, 1, 4, 7, 15])),
        CqlType::TimeUuid => uuid(Just(1)),
        CqlType::List(element) | CqlType::Set(element) => collection(&[element]),
        CqlType::Map(key, value) => collection(&[key, value]),
        CqlType::Tuple(fields) => tuple(fields.iter()),
        CqlType::Udt(user_type) => tuple(user_type.fields.iter().map(|field| &field.cql_type)),
        // A hostile dimension gets too few elements.
        CqlType::Vector(element, dimension) => vector(element, (*dimension).min(3) as usize),
        _ => vec(select(vec![0_u8, 0, 1, b'a', b'b', 0x7f]), 0..4).boxed(),
    }
}

fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![select(vec![0_u8, 1, 0x7f, 0x80, 0xff]), any::<u8>()]
}

fn bytes(length: usize) -> BoxedStrategy<Vec<u8>> {
    vec(byte(), length).boxed()
}

fn integer(length: usize) -> BoxedStrategy<Vec<u8>> {
    let small = (-3_i64..3).prop_map(move |number| number.to_be_bytes()[8 - length..].to_vec());
    prop_oneof![small, bytes(length)].boxed()
}

fn floats(length: usize, numbers: &[f64]) -> BoxedStrategy<Vec<u8>> {
    let pick = select(numbers.to_vec()).prop_map(move |number| match length {
        4 => (number as f32).to_be_bytes().to_vec(),
        _ => number.to_be_bytes().to_vec(),
    });
    prop_oneof![pick, bytes(length)].boxed()
}

/// Not always in the shortest form.
fn varint() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![
        (0_usize..3).prop_flat_map(|length| integer(1 << length)),
        (1_usize..20).prop_flat_map(bytes),
        (105_usize..130).prop_flat_map(bytes),
    ]
    .boxed()
}

fn decimal() -> BoxedStrategy<Vec<u8>> {
    let scale =
        prop_oneof![4 => -3..4_i32, 1 => any::<i32>(), 1 => select(vec![i32::MIN, i32::MAX])];
    let unscaled = prop_oneof![
        (-12_i128..12, 0_u32..6).prop_map(|(number, zeros)| number * 10_i128.pow(zeros)),
        any::<i128>(),
        any::<i64>().prop_map(i128::from),
    ];
    (scale, unscaled)
        .prop_map(|(scale, unscaled)| {
            [&scale.to_be_bytes()[..], &unscaled.to_be_bytes()[..]].concat()
        })
        .boxed()
}

fn uuid(version: impl Strategy<Value = u8> + 'static) -> BoxedStrategy<Vec<u8>> {
    let template = select(vec![vec![0_u8; 16], vec![0x81; 16]]);
    (template, vec((0_usize..16, byte()), 0..3), version)
        .prop_map(|(mut bytes, changes, version)| {
            for (index, byte) in changes {
                bytes[index] = byte;
            }
            bytes[6] = bytes[6] & 0x0f | version << 4;
            bytes
        })
        .boxed()
}

fn with_length(value: Option<Vec<u8>>) -> Vec<u8> {
    let length = value.as_ref().map_or(-1, |value| value.len() as i32);
    [length.to_be_bytes().to_vec(), value.unwrap_or_default()].concat()
}

fn collection(types: &[&CqlType]) -> BoxedStrategy<Vec<u8>> {
    let entry = types
        .iter()
        .map(|ty| value(ty).prop_map(|value| with_length(Some(value))).boxed())
        .collect::<Vec<_>>();
    vec(entry, 0..3)
        .prop_map(|entries| {
            let count = entries.len() as i32;
            [count.to_be_bytes().to_vec(), entries.concat().concat()].concat()
        })
        .boxed()
}

/// At least one field, so that the value is not empty; trailing ones may be missing.
fn tuple<'t>(types: impl Iterator<Item = &'t CqlType>) -> BoxedStrategy<Vec<u8>> {
    let fields = types
        .map(|ty| {
            proptest::option::weighted(0.7, value(ty))
                .prop_map(with_length)
                .boxed()
        })
        .collect::<Vec<_>>();
    let count = fields.len();
    (fields, 1..=count)
        .prop_map(|(fields, kept)| fields[..kept].concat())
        .boxed()
}

fn vector(element: &CqlType, dimension: usize) -> BoxedStrategy<Vec<u8>> {
    if element.fixed_length().is_some() {
        return vec(filled(element), dimension)
            .prop_map(|elements| elements.concat())
            .boxed();
    }
    let element = value(element).prop_map(|mut value| {
        // One byte of length is enough for what fits into it; other values are made empty.
        if value.len() > 127 {
            value.clear();
        }
        value.insert(0, value.len() as u8);
        value
    });
    vec(element, dimension)
        .prop_map(|elements| elements.concat())
        .boxed()
}
