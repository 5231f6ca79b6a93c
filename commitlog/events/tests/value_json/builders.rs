//! Value bytes and types in few words.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_events::value::json::write_json;
use commitlog_events::value::{DecimalMode, DurationMode, ValueError, ValueModes, VarintMode};
use serde_json::Value;

pub const PRECISE: ValueModes = ValueModes {
    decimal: DecimalMode::Precise,
    varint: VarintMode::Precise,
    duration: DurationMode::Precise,
};
pub const STRING: ValueModes = ValueModes {
    decimal: DecimalMode::String,
    varint: VarintMode::String,
    duration: DurationMode::String,
};

pub fn json(ty: &CqlType, bytes: &[u8], modes: ValueModes) -> Value {
    let mut out = Vec::new();
    write_json(&mut out, ty, bytes, &modes).unwrap();
    serde_json::from_slice(&out).unwrap()
}

pub fn error(ty: &CqlType, bytes: &[u8]) -> ValueError {
    let mut out = b"kept".to_vec();
    let error = write_json(&mut out, ty, bytes, &ValueModes::default()).unwrap_err();
    assert_eq!(out, b"kept");
    error
}

pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| *digit != b' ').collect();
    let text = String::from_utf8(digits).unwrap();
    (0..text.len() / 2)
        .map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap())
        .collect()
}

/// Elements with their 32-bit lengths; `None` is a null.
pub fn elements(elements: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for element in elements {
        let length = element.map_or(-1, |element| element.len() as i32);
        bytes.extend(length.to_be_bytes());
        bytes.extend(element.unwrap_or_default());
    }
    bytes
}

/// A list, set or map of that many elements or entries.
pub fn collection(count: i32, parts: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<_> = parts.iter().copied().map(Some).collect();
    [count.to_be_bytes().to_vec(), elements(&parts)].concat()
}

pub fn int(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

pub fn list(element: CqlType) -> CqlType {
    CqlType::List(Box::new(element))
}

pub fn set(element: CqlType) -> CqlType {
    CqlType::Set(Box::new(element))
}

pub fn map(key: CqlType, value: CqlType) -> CqlType {
    CqlType::Map(Box::new(key), Box::new(value))
}

pub fn address() -> CqlType {
    let field = |name: &str, cql_type| UserTypeField {
        name: name.to_owned(),
        cql_type,
    };
    CqlType::Udt(Arc::new(UserType {
        keyspace: "ks1".to_owned(),
        name: "addr".to_owned(),
        fields: vec![field("street", CqlType::Text), field("zip", CqlType::Int)],
    }))
}
