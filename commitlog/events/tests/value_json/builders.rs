//! Value bytes and types in few words.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_core::schema::{UserTypes, parse_type};
use commitlog_events::value::json::write_json;
use commitlog_events::value::{DecimalMode, DurationMode, ValueModes, VarintMode};

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

pub fn json(ty: &CqlType, bytes: &[u8], modes: ValueModes) -> String {
    let mut out = Vec::new();
    write_json(&mut out, ty, bytes, &modes).unwrap();
    String::from_utf8(out).unwrap()
}

/// A type by its CQL name. `addr` is a user type.
pub fn cql_type(name: &str) -> CqlType {
    if name != "addr" {
        return parse_type(name, "ks1", &UserTypes::default()).unwrap().0;
    }
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

/// The lines of a table: a type, bytes as hexadecimal digits with blanks, what they give (`∅`:
/// nothing).
pub fn check_cases(table: &str, check: impl Fn(&CqlType, &[u8], &str)) {
    for line in table.trim_matches('\n').lines() {
        let [ty, bytes, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        check(&cql_type(ty), &hex(bytes), expected.trim_matches('∅'));
    }
}

/// Values as JSON.
pub fn check(modes: ValueModes, table: &str) {
    check_cases(table, |ty, bytes, expected| {
        assert_eq!(json(ty, bytes, modes), expected, "{ty:?} {bytes:02x?}");
    });
}

pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| *digit != b' ').collect();
    let text = String::from_utf8(digits).unwrap();
    (0..text.len() / 2)
        .map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap())
        .collect()
}
