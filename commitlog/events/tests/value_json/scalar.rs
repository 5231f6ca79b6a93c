use commitlog_core::cql_type::CqlType;
use commitlog_events::value::json::write_json;
use commitlog_events::value::{Problem, ValueModes};

use crate::builders::{PRECISE, STRING, hex, json};

#[test]
fn scalars() {
    let cases = [
        (CqlType::Ascii, "6173636969", r#""ascii""#),
        (CqlType::BigInt, "0020000000000001", "9007199254740993"),
        (CqlType::Blob, "cafebabe", r#""yv66vg==""#),
        (CqlType::Boolean, "01", "true"),
        (CqlType::Boolean, "00", "false"),
        (CqlType::Date, "80004d46", "19782"),
        (CqlType::Date, "00000000", "-2147483648"),
        (CqlType::Decimal, "00000004 075bcd15", "12345.6789"),
        (CqlType::Double, "4004000000000000", "2.5"),
        (
            CqlType::Duration,
            "02 04 fc14173b51b5c0",
            "2775845006007008",
        ),
        (CqlType::Float, "3fa00000", "1.25"),
        (CqlType::Float, "3f8ccccd", "1.1"),
        (CqlType::Inet, "c0000201", r#""/192.0.2.1""#),
        (
            CqlType::Inet,
            "20010db8000000000000000000000001",
            r#""/2001:db8:0:0:0:0:0:1""#,
        ),
        (CqlType::Int, "0000002a", "42"),
        (CqlType::SmallInt, "fff9", "-7"),
        (CqlType::Text, "68c3a96c6c6f", "\"h\u{e9}llo\""),
        (CqlType::Time, "000029327b04bf79", "45296789012345"),
        (CqlType::Timestamp, "0000018df4dc5495", "1709210096789"),
        (
            CqlType::TimeUuid,
            "50554d6e29bb11e5b345feff819cdc9f",
            r#""50554d6e-29bb-11e5-b345-feff819cdc9f""#,
        ),
        (CqlType::TinyInt, "05", "5"),
        (
            CqlType::Uuid,
            "6ab09bece68e48d9a5f897e6fb4c9b47",
            r#""6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47""#,
        ),
        (
            CqlType::VarInt,
            "018ee90ff6c373e0ee4e3f0ad2",
            "-4362896299872285998",
        ),
        (CqlType::VarInt, "ff", "-1"),
        (
            CqlType::Counter,
            "0001 8000 50554d6e29bb11e5b345feff819cdc9f 0000000000000001 000000000000002a",
            "42",
        ),
        (CqlType::Custom("x.Y".to_owned()), "00", r#""AA==""#),
    ];
    for (ty, bytes, expected) in cases {
        let mut out = Vec::new();
        write_json(&mut out, &ty, &hex(bytes), &ValueModes::default()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{ty:?}");
    }
}

#[test]
fn numbers_that_are_none() {
    let cases = [
        (CqlType::Double, "7ff8000000000000", "NaN"),
        (CqlType::Double, "7ff0000000000000", "Infinity"),
        (CqlType::Double, "fff0000000000000", "-Infinity"),
        (CqlType::Float, "ffc00000", "NaN"),
        (CqlType::Float, "7f800000", "Infinity"),
        (CqlType::Float, "ff800000", "-Infinity"),
        (CqlType::Decimal, "fffffe7005", "Infinity"),
        (CqlType::Decimal, "80000000fb", "-Infinity"),
    ];
    for (ty, bytes, expected) in cases {
        assert_eq!(json(&ty, &hex(bytes), ValueModes::default()), expected);
    }
}

#[test]
fn the_smallest_floats_have_two_digits() {
    let cases = [
        ("00000001", 1.4e-45),
        ("00000002", 2.8e-45),
        ("80000001", -1.4e-45),
    ];
    for (bytes, expected) in cases {
        let number = json(&CqlType::Float, &hex(bytes), ValueModes::default());
        assert_eq!(number, expected);
    }
}

#[test]
fn decimals_and_varints_in_the_other_modes() {
    let decimal = hex("00000004075bcd15");
    let varint = hex("018ee90ff6c373e0ee4e3f0ad2");
    assert_eq!(
        json(&CqlType::Decimal, &decimal, PRECISE),
        serde_json::json!({"scale": 4, "value": "B1vNFQ=="})
    );
    assert_eq!(json(&CqlType::Decimal, &decimal, STRING), "12345.6789");
    assert_eq!(json(&CqlType::Decimal, &hex("fffffffe0c"), STRING), "1200");
    assert_eq!(
        json(&CqlType::VarInt, &varint, PRECISE),
        "AY7pD/bDc+DuTj8K0g=="
    );
    assert_eq!(json(&CqlType::VarInt, &hex("ffff80"), PRECISE), "gA==");
    assert_eq!(
        json(&CqlType::VarInt, &varint, STRING),
        "123456789012345678901234567890"
    );
}

#[test]
fn a_scale_that_would_print_too_many_zeros_is_rejected() {
    for bytes in ["7fffffff01", "8000000001"] {
        let mut out = b"kept".to_vec();
        let error = write_json(&mut out, &CqlType::Decimal, &hex(bytes), &STRING).unwrap_err();
        assert!(matches!(error.problem(), Problem::Digits { .. }), "{error}");
        assert_eq!(out, b"kept");
    }
}
