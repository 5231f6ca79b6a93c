use commitlog_core::cql_type::CqlType;
use commitlog_events::value::ValueModes;
use serde_json::Value;

use crate::builders::{
    PRECISE, STRING, address, collection, elements, error, hex, int, json, list, map, set,
};

#[test]
fn empty_values() {
    for ty in [CqlType::Text, CqlType::Ascii, CqlType::Blob] {
        assert_eq!(json(&ty, b"", ValueModes::default()), "");
    }
    let others = [
        CqlType::Int,
        CqlType::Decimal,
        CqlType::Uuid,
        CqlType::Empty,
        list(CqlType::Int),
        map(CqlType::Text, CqlType::Int),
        address(),
        CqlType::Vector(Box::new(CqlType::Float), 2),
    ];
    for ty in others {
        assert_eq!(json(&ty, b"", PRECISE), Value::Null, "{ty:?}");
    }
}

#[test]
fn frozen_collections() {
    let modes = ValueModes::default();
    let numbers = collection(2, &[&int(3), &int(1)]);
    assert_eq!(
        json(&list(CqlType::Int), &numbers, modes).to_string(),
        "[3,1]"
    );
    let texts = collection(2, &[b"w", b"x"]);
    assert_eq!(
        json(&set(CqlType::Text), &texts, modes).to_string(),
        r#"["w","x"]"#
    );
    let entries = collection(1, &[b"q", &int(9)]);
    assert_eq!(
        json(&map(CqlType::Text, CqlType::Int), &entries, modes).to_string(),
        r#"{"q":9}"#
    );
    let nested = collection(1, &[b"a", &collection(2, &[&int(1), &int(2)])]);
    assert_eq!(
        json(&map(CqlType::Text, list(CqlType::Int)), &nested, modes).to_string(),
        r#"{"a":[1,2]}"#
    );
    assert_eq!(json(&set(CqlType::Text), &int(0), modes).to_string(), "[]");
}

#[test]
fn a_map_is_an_object_only_if_connect_holds_its_keys_for_strings() {
    let uuid = hex("6ab09bece68e48d9a5f897e6fb4c9b47");
    let cases = [
        (
            CqlType::Uuid,
            uuid,
            r#"{"6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47":5}"#,
        ),
        (CqlType::Inet, hex("c0000201"), r#"{"/192.0.2.1":5}"#),
        (CqlType::Date, hex("80004d46"), "[[19782,5]]"),
        (CqlType::Blob, hex("61"), r#"[["YQ==",5]]"#),
        (CqlType::Boolean, hex("01"), "[[true,5]]"),
        (CqlType::VarInt, hex("7f"), "[[127,5]]"),
    ];
    for (key, bytes, expected) in cases {
        let ty = map(key, CqlType::Int);
        let value = json(
            &ty,
            &collection(1, &[&bytes, &int(5)]),
            ValueModes::default(),
        );
        assert_eq!(value.to_string(), expected);
    }
    let ty = map(CqlType::VarInt, CqlType::Decimal);
    let bytes = collection(1, &[&[0x7f], &hex("0000000105")]);
    assert_eq!(json(&ty, &bytes, STRING).to_string(), r#"{"127":"0.5"}"#);
    assert_eq!(
        json(&ty, &bytes, PRECISE).to_string(),
        r#"[["fw==",{"scale":1,"value":"BQ=="}]]"#
    );
}

#[test]
fn tuples_and_user_types() {
    let modes = ValueModes::default();
    let tuple = CqlType::Tuple(vec![CqlType::Int, set(CqlType::Text)]);
    let texts = collection(2, &[b"x", b"y"]);
    let bytes = elements(&[Some(&int(5)), Some(&texts)]);
    assert_eq!(
        json(&tuple, &bytes, modes).to_string(),
        r#"{"field1":5,"field2":["x","y"]}"#
    );
    let cases: [(&[Option<&[u8]>], &str); 4] = [
        (&[Some(b"s"), Some(&int(1))], r#"{"street":"s","zip":1}"#),
        (&[Some(b"s")], r#"{"street":"s","zip":null}"#),
        (&[Some(b""), None], r#"{"street":"","zip":null}"#),
        (&[None, Some(b"")], r#"{"street":null,"zip":null}"#),
    ];
    for (fields, expected) in cases {
        assert_eq!(
            json(&address(), &elements(fields), modes).to_string(),
            expected
        );
    }
}

#[test]
fn vectors() {
    let modes = ValueModes::default();
    let floats = CqlType::Vector(Box::new(CqlType::Float), 2);
    assert_eq!(
        json(&floats, &hex("3f8000003f8ccccd"), modes).to_string(),
        "[1.0,1.1]"
    );
    let texts = CqlType::Vector(Box::new(CqlType::Text), 2);
    assert_eq!(
        json(&texts, &hex("0161 00"), modes).to_string(),
        r#"["a",""]"#
    );
    let nested = CqlType::Vector(Box::new(floats), 1);
    assert_eq!(
        json(&nested, &hex("3f8000003f8ccccd"), modes).to_string(),
        "[[1.0,1.1]]"
    );
}

#[test]
fn values_that_do_not_fit_their_types() {
    let cases = [
        (CqlType::Int, "000001", "int value: 3 bytes; expected 4"),
        (
            CqlType::Inet,
            "0102030405",
            "inet value: 5 bytes; expected 4 or 16",
        ),
        (
            CqlType::Decimal,
            "00000001",
            "decimal value: 4 bytes; expected at least 5",
        ),
        (
            list(CqlType::Int),
            "00000002 00000004 00000001",
            "list<int> value of 12 bytes: truncated at byte 12",
        ),
        (
            list(CqlType::Int),
            "00000000 01",
            "list<int> value of 5 bytes: 1 surplus bytes",
        ),
        (
            list(CqlType::Int),
            "ffffffff",
            "list<int> value: a negative element count, -1",
        ),
        (
            address(),
            "ffffffff ffffffff ffffffff",
            "ks1.addr value of 12 bytes: 4 surplus bytes",
        ),
        (
            CqlType::Vector(Box::new(CqlType::Float), 2),
            "3f800000",
            "vector<float, 2> value: 4 bytes; expected 8",
        ),
        (
            CqlType::Duration,
            "f400000000 00 00",
            "duration value: 8589934592 is out of range",
        ),
    ];
    for (ty, bytes, expected) in cases {
        assert_eq!(error(&ty, &hex(bytes)).to_string(), expected);
    }
}
