use commitlog_core::cql_type::CqlType;
use commitlog_events::value::json::write_json;
use commitlog_events::value::{Problem, ValueModes};

use super::builders::{PRECISE, STRING, check, hex, json};

#[test]
fn scalars_are_written() {
    check(
        ValueModes::default(),
        r#"
ascii | 6173636969 | "ascii"
bigint | 0020000000000001 | 9007199254740993
blob | cafebabe | "yv66vg=="
boolean | 01 | true
boolean | 00 | false
date | 80004d46 | 19782
date | 00000000 | -2147483648
decimal | 00000004 075bcd15 | 12345.6789
double | 4004000000000000 | 2.5
duration | 02 04 fc14173b51b5c0 | 2775845006007008
float | 3fa00000 | 1.25
float | 3f8ccccd | 1.1
inet | c0000201 | "/192.0.2.1"
inet | 20010db8000000000000000000000001 | "/2001:db8:0:0:0:0:0:1"
int | 0000002a | 42
smallint | fff9 | -7
text | 68c3a96c6c6f | "héllo"
time | 000029327b04bf79 | 45296789012345
timestamp | 0000018df4dc5495 | 1709210096789
timeuuid | 50554d6e29bb11e5b345feff819cdc9f | "50554d6e-29bb-11e5-b345-feff819cdc9f"
tinyint | 05 | 5
uuid | 6ab09bece68e48d9a5f897e6fb4c9b47 | "6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47"
varint | 018ee90ff6c373e0ee4e3f0ad2 | -4362896299872285998
varint | ff | -1
counter | 0001 8000 50554d6e29bb11e5b345feff819cdc9f 0000000000000001 000000000000002a | 42
'x.Y' | 00 | "AA=="
double | 7ff8000000000000 | "NaN"
double | 7ff0000000000000 | "Infinity"
double | fff0000000000000 | "-Infinity"
float | ffc00000 | "NaN"
float | 7f800000 | "Infinity"
float | ff800000 | "-Infinity"
decimal | fffffe70 05 | "Infinity"
decimal | 80000000 fb | "-Infinity"
"#,
    );
}

#[test]
fn smallest_floats_have_two_digits() {
    for (bytes, expected) in [
        ("00000001", 1.4e-45),
        ("00000002", 2.8e-45),
        ("80000001", -1.4e-45),
    ] {
        let number = json(&CqlType::Float, &hex(bytes), ValueModes::default());
        assert_eq!(number.parse::<f64>().unwrap(), expected);
    }
}

#[test]
fn decimals_and_varints_follow_value_modes() {
    check(
        PRECISE,
        r#"
decimal | 00000004 075bcd15 | {"scale":4,"value":"B1vNFQ=="}
varint | 018ee90ff6c373e0ee4e3f0ad2 | "AY7pD/bDc+DuTj8K0g=="
varint | ffff80 | "gA=="
"#,
    );
    check(
        STRING,
        r#"
decimal | 00000004 075bcd15 | "12345.6789"
decimal | fffffffe 0c | "1200"
varint | 018ee90ff6c373e0ee4e3f0ad2 | "123456789012345678901234567890"
"#,
    );
}

#[test]
fn scale_with_too_many_zeros_is_rejected() {
    for bytes in ["7fffffff01", "8000000001"] {
        let mut out = b"kept".to_vec();
        let error = write_json(&mut out, &CqlType::Decimal, &hex(bytes), &STRING).unwrap_err();
        assert!(matches!(error.problem(), Problem::Digits { .. }), "{error}");
        assert_eq!(out, b"kept");
    }
}
