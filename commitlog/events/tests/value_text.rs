//! Values as `AbstractType#getString` of a real server's classes writes them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_events::value::text::{write_json_text, write_text};

fn text(ty: &CqlType, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write_text(&mut out, ty, bytes).unwrap();
    let mut quoted = Vec::new();
    write_json_text(&mut quoted, ty, bytes).unwrap();
    let unquoted: String = serde_json::from_slice(&quoted).unwrap();
    assert_eq!(unquoted.as_bytes(), out);
    unquoted
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2)
        .map(|index| u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).unwrap())
        .collect()
}

fn check(ty: &CqlType, cases: &[(&str, &str)]) {
    for (bytes, expected) in cases {
        assert_eq!(text(ty, &hex(bytes)), *expected, "{ty:?} {bytes}");
    }
}

#[test]
fn integers_and_booleans() {
    check(
        &CqlType::Int,
        &[("00000002", "2"), ("", ""), ("80000000", "-2147483648")],
    );
    check(&CqlType::TinyInt, &[("80", "-128")]);
    check(&CqlType::SmallInt, &[("7fff", "32767")]);
    check(
        &CqlType::BigInt,
        &[("7fffffffffffffff", "9223372036854775807")],
    );
    check(
        &CqlType::Boolean,
        &[("01", "true"), ("00", "false"), ("05", "true")],
    );
    check(
        &CqlType::VarInt,
        &[
            ("ffff80", "-128"),
            (
                "018ee90ff6c373e0ee4e3f0ad2",
                "123456789012345678901234567890",
            ),
        ],
    );
}

#[test]
fn decimals_as_java_writes_them() {
    check(
        &CqlType::Decimal,
        &[
            ("00000004075bcd15", "12345.6789"),
            ("fffffffe0c", "1.2E+3"),
            ("0000000afb", "-5E-10"),
            ("0000000300", "0.000"),
            ("fffffffd00", "0E+3"),
            ("7fffffff01", "1E-2147483647"),
        ],
    );
}

#[test]
fn doubles_as_java_writes_them() {
    check(
        &CqlType::Double,
        &[
            ("0000000000000000", "0.0"),
            ("8000000000000000", "-0.0"),
            ("4202a05f20000000", "1.0E10"),
            ("416312d000000000", "1.0E7"),
            ("416312cfe0000000", "9999999.0"),
            ("3f50624dd2f1a9fc", "0.001"),
            ("3f505e1c15097c81", "9.99E-4"),
            ("0000000000000001", "4.9E-324"),
            ("ffefffffffffffff", "-1.7976931348623157E308"),
            ("7ff8000000000000", "NaN"),
            ("fff0000000000000", "-Infinity"),
        ],
    );
    check(
        &CqlType::Float,
        &[
            ("3f8ccccd", "1.1"),
            ("4b800000", "1.6777216E7"),
            ("00000001", "1.4E-45"),
            ("ca0b5805", "-2283009.2"),
            ("7f800000", "Infinity"),
        ],
    );
}

#[test]
fn times() {
    check(
        &CqlType::Timestamp,
        &[
            ("0000018cc251f400", "2024-01-01T00:00:00.000Z"),
            ("0000018df4dc5495", "2024-02-29T12:34:56.789Z"),
            ("ffffffffffffffff", "1969-12-31T23:59:59.999Z"),
            ("fffff4e2f964abff", "1582-10-14T23:59:59.999Z"),
            ("ffffc77cedd327ff", "0001-12-31T23:59:59.999Z"),
            ("0000e677d21fdc00", "+10000-01-01T00:00:00.000Z"),
            ("7fffffffffffffff", "+292278994-08-17T07:12:55.807Z"),
            ("8000000000000000", "+292275056-05-16T16:47:04.192Z"),
        ],
    );
    check(
        &CqlType::Date,
        &[
            ("80004d46", "2024-02-29"),
            ("80000000", "1970-01-01"),
            ("7ff50557", "-0001-12-31"),
            ("802cc0a1", "+10000-01-01"),
            ("00000000", "-5877641-06-23"),
            ("ffffffff", "+5881580-07-11"),
        ],
    );
    check(
        &CqlType::Time,
        &[
            ("000029327b04bf79", "12:34:56.789012345"),
            ("0000000000000000", "00:00:00.000000000"),
        ],
    );
    check(
        &CqlType::Duration,
        &[
            ("0204fc14173b51b5c0", "1mo2d3h4m5s6ms7us8ns"),
            ("010101", "-1mo1d1ns"),
            ("320000", "2y1mo"),
            ("000000", ""),
        ],
    );
}

#[test]
fn bytes_and_addresses() {
    check(&CqlType::Blob, &[("cafebabe", "cafebabe"), ("", "")]);
    check(&CqlType::Custom("x.Y".to_owned()), &[("00ff", "00ff")]);
    check(
        &CqlType::Inet,
        &[
            ("c0000201", "192.0.2.1"),
            ("20010db8000000000000000000000001", "2001:db8:0:0:0:0:0:1"),
        ],
    );
    check(
        &CqlType::Uuid,
        &[(
            "6ab09bece68e48d9a5f897e6fb4c9b47",
            "6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47",
        )],
    );
    check(&CqlType::Text, &[("68c3a96c6c6f0a22", "h\u{e9}llo\n\"")]);
    assert_eq!(text(&CqlType::Text, b"a\xff"), "a\u{fffd}");
}

#[test]
fn collections_are_their_bytes() {
    let bytes = "000000010000000400000005";
    let types = [
        CqlType::List(Box::new(CqlType::Int)),
        CqlType::Set(Box::new(CqlType::Int)),
        CqlType::Vector(Box::new(CqlType::Int), 3),
    ];
    for ty in types {
        check(&ty, &[(bytes, bytes)]);
    }
}

#[test]
fn tuples_with_escaped_separators() {
    let fields = vec![CqlType::Int, CqlType::Text, CqlType::Text];
    let user_type = CqlType::Udt(Arc::new(UserType {
        keyspace: "ks1".to_owned(),
        name: "three".to_owned(),
        fields: fields
            .iter()
            .map(|cql_type| UserTypeField {
                name: "f".to_owned(),
                cql_type: cql_type.clone(),
            })
            .collect(),
    }));
    for ty in [CqlType::Tuple(fields), user_type] {
        check(
            &ty,
            &[
                ("000000040000000700000003613a40ffffffff", r"7:a\:\@:@"),
                ("0000000400000007", "7"),
                ("ffffffff00000000ffffffff", "@::@"),
                ("ffffffff", "@"),
                ("", ""),
            ],
        );
    }
}

#[test]
fn bytes_that_do_not_fit_leave_the_buffer_alone() {
    for ty in [CqlType::Int, CqlType::Tuple(vec![CqlType::Int])] {
        let mut out = b"kept".to_vec();
        assert!(write_text(&mut out, &ty, &[0, 0, 0, 1, 5]).is_err());
        assert!(write_json_text(&mut out, &ty, &[0, 0, 0, 1, 5]).is_err());
        assert_eq!(out, b"kept");
    }
}
