//! Values in the format of `AbstractType#getString`, taken from a real server's classes.

use commitlog_core::cql_type::CqlType;
use commitlog_events::value::text::{write_json_text, write_text};

use crate::value_json::builders::check_cases;

fn text(ty: &CqlType, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write_text(&mut out, ty, bytes).unwrap();
    let mut quoted = Vec::new();
    write_json_text(&mut quoted, ty, bytes).unwrap();
    let unquoted: String = serde_json::from_slice(&quoted).unwrap();
    assert_eq!(unquoted.as_bytes(), out);
    unquoted
}

const VALUES: &str = r"
int | 00000002 | 2
int |  | ∅
int | 80000000 | -2147483648
tinyint | 80 | -128
smallint | 7fff | 32767
bigint | 7fffffffffffffff | 9223372036854775807
boolean | 01 | true
boolean | 00 | false
boolean | 05 | true
varint | ffff80 | -128
varint | 018ee90ff6c373e0ee4e3f0ad2 | 123456789012345678901234567890
decimal | 00000004 075bcd15 | 12345.6789
decimal | fffffffe 0c | 1.2E+3
decimal | 0000000a fb | -5E-10
decimal | 00000003 00 | 0.000
decimal | fffffffd 00 | 0E+3
decimal | 7fffffff 01 | 1E-2147483647
double | 0000000000000000 | 0.0
double | 8000000000000000 | -0.0
double | 4202a05f20000000 | 1.0E10
double | 416312d000000000 | 1.0E7
double | 416312cfe0000000 | 9999999.0
double | 3f50624dd2f1a9fc | 0.001
double | 3f505e1c15097c81 | 9.99E-4
double | 0000000000000001 | 4.9E-324
double | ffefffffffffffff | -1.7976931348623157E308
double | 7ff8000000000000 | NaN
double | fff0000000000000 | -Infinity
float | 3f8ccccd | 1.1
float | 4b800000 | 1.6777216E7
float | 00000001 | 1.4E-45
float | ca0b5805 | -2283009.2
float | 7f800000 | Infinity
timestamp | 0000018cc251f400 | 2024-01-01T00:00:00.000Z
timestamp | 0000018df4dc5495 | 2024-02-29T12:34:56.789Z
timestamp | ffffffffffffffff | 1969-12-31T23:59:59.999Z
timestamp | fffff4e2f964abff | 1582-10-14T23:59:59.999Z
timestamp | ffffc77cedd327ff | 0001-12-31T23:59:59.999Z
timestamp | 0000e677d21fdc00 | +10000-01-01T00:00:00.000Z
timestamp | 7fffffffffffffff | +292278994-08-17T07:12:55.807Z
timestamp | 8000000000000000 | +292275056-05-16T16:47:04.192Z
date | 80004d46 | 2024-02-29
date | 80000000 | 1970-01-01
date | 7ff50557 | -0001-12-31
date | 802cc0a1 | +10000-01-01
date | 00000000 | -5877641-06-23
date | ffffffff | +5881580-07-11
time | 000029327b04bf79 | 12:34:56.789012345
time | 0000000000000000 | 00:00:00.000000000
duration | 0204fc14173b51b5c0 | 1mo2d3h4m5s6ms7us8ns
duration | 010101 | -1mo1d1ns
duration | 320000 | 2y1mo
duration | 000000 | ∅
blob | cafebabe | cafebabe
blob |  | ∅
'x.Y' | 00ff | 00ff
inet | c0000201 | 192.0.2.1
inet | 20010db8000000000000000000000001 | 2001:db8:0:0:0:0:0:1
uuid | 6ab09bece68e48d9a5f897e6fb4c9b47 | 6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47
list<int> | 000000010000000400000005 | 000000010000000400000005
set<int> | 000000010000000400000005 | 000000010000000400000005
vector<int, 3> | 000000010000000400000005 | 000000010000000400000005
tuple<int, text, text> | 00000004 00000007 00000003 613a40 ffffffff | 7:a\:\@:@
tuple<int, text, text> | 00000004 00000007 | 7
tuple<int, text, text> | ffffffff 00000000 ffffffff | @::@
tuple<int, text, text> | ffffffff | @
tuple<int, text, text> |  | ∅
addr | 00000003 613a40 ffffffff | a\:\@:@
";

#[test]
fn value_texts_match_java() {
    check_cases(VALUES, |ty, bytes, expected| {
        assert_eq!(text(ty, bytes), expected, "{ty:?} {bytes:02x?}");
    });
    assert_eq!(text(&CqlType::Text, b"h\xc3\xa9llo\n\""), "h\u{e9}llo\n\"");
    assert_eq!(text(&CqlType::Text, b"a\xff"), "a\u{fffd}");
}

#[test]
fn malformed_bytes_leave_buffer_unchanged() {
    for ty in [CqlType::Int, CqlType::Tuple(vec![CqlType::Int])] {
        let mut out = b"kept".to_vec();
        assert!(write_text(&mut out, &ty, &[0, 0, 0, 1, 5]).is_err());
        assert!(write_json_text(&mut out, &ty, &[0, 0, 0, 1, 5]).is_err());
        assert_eq!(out, b"kept");
    }
}
