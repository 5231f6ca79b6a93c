use commitlog_events::value::ValueModes;
use commitlog_events::value::json::write_json;

use super::builders::{PRECISE, STRING, check, check_cases};

#[test]
fn empty_values_are_written() {
    check(
        PRECISE,
        r#"
text |  | ""
ascii |  | ""
blob |  | ""
int |  | null
decimal |  | null
uuid |  | null
empty |  | null
list<int> |  | null
map<text, int> |  | null
addr |  | null
vector<float, 2> |  | null
"#,
    );
}

#[test]
fn frozen_collections_are_written() {
    check(
        ValueModes::default(),
        r#"
list<int> | 00000002 00000004 00000003 00000004 00000001 | [3,1]
set<text> | 00000002 00000001 77 00000001 78 | ["w","x"]
set<text> | 00000000 | []
map<text, int> | 00000001 00000001 71 00000004 00000009 | {"q":9}
map<text, list<int>> | 00000001 00000001 61 00000014 00000002 00000004 00000001 00000004 00000002 | {"a":[1,2]}
"#,
    );
}

#[test]
fn only_map_with_string_keys_becomes_object() {
    check(
        ValueModes::default(),
        r#"
map<uuid, int> | 00000001 00000010 6ab09bece68e48d9a5f897e6fb4c9b47 00000004 00000005 | {"6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47":5}
map<inet, int> | 00000001 00000004 c0000201 00000004 00000005 | {"/192.0.2.1":5}
map<date, int> | 00000001 00000004 80004d46 00000004 00000005 | [[19782,5]]
map<blob, int> | 00000001 00000001 61 00000004 00000005 | [["YQ==",5]]
map<boolean, int> | 00000001 00000001 01 00000004 00000005 | [[true,5]]
map<varint, int> | 00000001 00000001 7f 00000004 00000005 | [[127,5]]
"#,
    );
    let bytes = "map<varint, decimal> | 00000001 00000001 7f 00000005 0000000105";
    check(STRING, &format!(r#"{bytes} | {{"127":"0.5"}}"#));
    check(
        PRECISE,
        &format!(r#"{bytes} | [["fw==",{{"scale":1,"value":"BQ=="}}]]"#),
    );
}

#[test]
fn tuples_user_types_and_vectors_are_written() {
    check(
        ValueModes::default(),
        r#"
tuple<int, set<text>> | 00000004 00000005 0000000e 00000002 00000001 78 00000001 79 | {"field1":5,"field2":["x","y"]}
addr | 00000001 73 00000004 00000001 | {"street":"s","zip":1}
addr | 00000001 73 | {"street":"s","zip":null}
addr | 00000000 ffffffff | {"street":"","zip":null}
addr | ffffffff 00000000 | {"street":null,"zip":null}
vector<float, 2> | 3f8000003f8ccccd | [1.0,1.1]
vector<text, 2> | 0161 00 | ["a",""]
vector<vector<float, 2>, 1> | 3f8000003f8ccccd | [[1.0,1.1]]
"#,
    );
}

#[test]
fn malformed_values_are_rejected() {
    let table = "
int | 000001 | int value: 3 bytes; expected 4
inet | 0102030405 | inet value: 5 bytes; expected 4 or 16
decimal | 00000001 | decimal value: 4 bytes; expected at least 5
list<int> | 00000002 00000004 00000001 | list<int> value of 12 bytes: truncated at byte 12
list<int> | 00000000 01 | list<int> value of 5 bytes: 1 surplus bytes
list<int> | ffffffff | list<int> value: a negative element count, -1
addr | ffffffff ffffffff ffffffff | ks1.addr value of 12 bytes: 4 surplus bytes
vector<float, 2> | 3f800000 | vector<float, 2> value: 4 bytes; expected 8
duration | f400000000 00 00 | duration value: 8589934592 is out of range
";
    check_cases(table, |ty, bytes, expected| {
        let mut out = b"kept".to_vec();
        let error = write_json(&mut out, ty, bytes, &ValueModes::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, b"kept");
    });
}
