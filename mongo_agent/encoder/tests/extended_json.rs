//! Extended JSON: the output of the Java driver (`java_driver.json`, from `org.mongodb:bson` 5.6.1
//! under Java 17), and properties that hold for any document.

use crate::written;
use mongo_encoder::bson::Document;
use mongo_encoder::json::{
    Flavour, write_document, write_document_in_string, write_value_in_string,
};
use proptest::prelude::*;
use serde_json::Value;

const FLAVOURS: [(Flavour, &str); 4] = [
    (Flavour::Strict, "strict"),
    (Flavour::Relaxed, "relaxed"),
    (Flavour::Canonical, "canonical"),
    (Flavour::Spaced, "spaced"),
];

fn json(bytes: &[u8], flavour: Flavour) -> String {
    let mut out = Vec::new();
    write_document(&mut out, Document::parse(bytes).unwrap(), flavour).unwrap();
    String::from_utf8(out).unwrap()
}

fn from_hex(hex: &str) -> Vec<u8> {
    let (pairs, _) = hex.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    pairs.iter().map(|pair| byte(pair).unwrap()).collect()
}

#[test]
fn extended_json_matches_java() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("java_driver.json")).unwrap();
    assert!(vectors.len() > 80);
    for vector in vectors {
        let bytes = from_hex(vector["bson"].as_str().unwrap());
        for (flavour, name) in FLAVOURS {
            let mut expected = vector[name].as_str().unwrap().to_owned();
            for word in ["-Infinity", "Infinity", "NaN"] {
                // Java's strict format of these numbers is not JSON.
                if expected == format!(r#"{{"v": {word}}}"#) {
                    expected = format!(r#"{{"v": {{"$numberDouble": "{word}"}}}}"#);
                }
            }
            assert_eq!(json(&bytes, flavour), expected, "{name}");
        }
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    let bytes = [&[2, b'v', 0, 4, 0, 0, 0][..], b"a\xff\xc3", &[0]].concat();
    let bytes = written::document(&[bytes]);
    let text = json(&bytes, Flavour::Relaxed);
    assert_eq!(text, "{\"v\": \"a\u{fffd}\u{fffd}\"}");
}

#[test]
fn old_binaries_contain_length_twice() {
    let old = |outer: i32, inner: i32| {
        let lengths = [&outer.to_le_bytes()[..], &[2], &inner.to_le_bytes()].concat();
        let value = [&lengths[..], b"abc"].concat();
        written::document(&[written::element(5, "v", &value)])
    };
    let text = json(&old(7, 3), Flavour::Relaxed);
    assert_eq!(
        text,
        r#"{"v": {"$binary": {"base64": "YWJj","subType": "02"}}}"#
    );
    let bytes = old(7, 4);
    let mut elements = Document::parse(&bytes).unwrap().elements();
    assert_eq!(elements.read().unwrap_err().offset, 7);
}

#[test]
fn decimals_beyond_the_specification_are_zero() {
    let coefficient = 10_u128.pow(34);
    let beyond = 0x6c10_u128 << 112 | 5;
    for (bits, text) in [
        (0x3040_u128 << 112 | coefficient, "0"),
        (
            0x3040_u128 << 112 | (coefficient - 1),
            "9999999999999999999999999999999999",
        ),
        (beyond, "0"),
        (beyond | 1 << 127, "-0"),
        (0xfc00_u128 << 112, "NaN"),
    ] {
        let element = written::element(0x13, "v", &bits.to_le_bytes());
        let bytes = written::document(&[element]);
        let json = json(&bytes, Flavour::Relaxed);
        assert_eq!(json, format!(r#"{{"v": {{"$numberDecimal": "{text}"}}}}"#));
    }
}

#[test]
fn document_depth_is_bounded() {
    let deep = |levels: usize| {
        let mut bytes = written::document(&[]);
        for _ in 1..levels {
            bytes = written::document(&[written::element(3, "a", &bytes)]);
        }
        let mut out = Vec::new();
        let document = Document::parse(&bytes).unwrap();
        write_document(&mut out, document, Flavour::Relaxed)
    };
    assert!(deep(200).is_ok());
    let error = deep(201).unwrap_err();
    assert_eq!(
        error.to_string(),
        "documents are nested more than 200 levels deep at byte 1400"
    );
}

/// An element of any type but a document.
fn leaf() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let text = prop_oneof![any::<String>(), "[ -~]{0,30}"].prop_map(|text| written::text(&text));
    let name = "[^\0]{0,9}".prop_map(|name| [name.as_bytes(), &[0]].concat());
    let binary = (any::<u8>(), any::<Vec<u8>>()).prop_map(|(subtype, bytes)| {
        let subtype = if subtype == 2 { 3 } else { subtype };
        let length = i32::try_from(bytes.len()).unwrap().to_le_bytes();
        [&length[..], &[subtype], &bytes].concat()
    });
    prop_oneof![
        any::<f64>().prop_map(|number| (1, number.to_le_bytes().to_vec())),
        (prop::sample::select(vec![2, 0x0d, 0x0e]), text.clone()),
        binary.prop_map(|binary| (5, binary)),
        prop::sample::select(vec![6, 0x0a, 0x7f, 0xff]).prop_map(|tag| (tag, Vec::new())),
        any::<[u8; 12]>().prop_map(|id| (7, id.to_vec())),
        any::<bool>().prop_map(|flag| (8, vec![u8::from(flag)])),
        (prop::sample::select(vec![9, 0x11, 0x12]), any::<[u8; 8]>())
            .prop_map(|(tag, bytes)| (tag, bytes.to_vec())),
        (name.clone(), name).prop_map(|(pattern, options)| (0x0b, [pattern, options].concat())),
        (text, any::<[u8; 12]>()).prop_map(|(text, id)| (0x0c, [&text[..], &id].concat())),
        any::<i32>().prop_map(|number| (0x10, number.to_le_bytes().to_vec())),
        any::<[u8; 16]>().prop_map(|bits| (0x13, bits.to_vec())),
    ]
}

fn documents() -> impl Strategy<Value = Vec<u8>> {
    let value = leaf().prop_recursive(4, 40, 6, |inner| {
        let elements = prop::collection::vec((".{0,9}", inner), 0..6);
        (prop::sample::select(vec![3, 4, 0x0f]), elements).prop_map(|(tag, elements)| {
            let document = document_of(&elements);
            if tag != 0x0f {
                return (tag, document);
            }
            let code = written::text("f()");
            let length = i32::try_from(code.len() + document.len() + 4).unwrap();
            (tag, [&length.to_le_bytes()[..], &code, &document].concat())
        })
    });
    prop::collection::vec((".{0,9}", value), 0..8).prop_map(|elements| document_of(&elements))
}

fn document_of(elements: &[(String, (u8, Vec<u8>))]) -> Vec<u8> {
    let elements = elements.iter();
    let elements = elements.map(|(name, (tag, value))| written::element(*tag, name, value));
    written::document(&elements.collect::<Vec<_>>())
}

/// Bytes are written as JSON, or rejected with a position inside them.
fn walk(bytes: &[u8]) {
    let Ok(document) = Document::parse(bytes) else {
        return;
    };
    for (flavour, _) in FLAVOURS {
        let mut out = Vec::new();
        let written = write_document(&mut out, document, flavour);
        match written {
            Ok(()) => {
                let read: Result<Value, _> = serde_json::from_slice(&out);
                // serde_json itself supports a depth of 128.
                assert!(read.is_ok() || out.len() > 128, "{read:?}");
            }
            Err(error) => assert!(error.offset <= bytes.len(), "{error}"),
        }
    }
}

proptest! {
    #[test]
    fn any_document_becomes_json_also_inside_strings(bytes in documents()) {
        for (flavour, _) in FLAVOURS {
            let plain = json(&bytes, flavour);
            prop_assert!(serde_json::from_str::<Value>(&plain).is_ok(), "{plain}");
            let mut inside = b"\"".to_vec();
            let document = Document::parse(&bytes).unwrap();
            write_document_in_string(&mut inside, document, flavour).unwrap();
            inside.push(b'"');
            let read: String = serde_json::from_slice(&inside).unwrap();
            prop_assert_eq!(read, plain);
        }
    }

    #[test]
    fn doubles_round_trip(number: f64) {
        let bytes = written::document(&[written::double("v", number)]);
        let text = json(&bytes, Flavour::Relaxed);
        let digits = text.trim_start_matches(r#"{"v": "#).trim_end_matches('}');
        if number.is_finite() {
            prop_assert_eq!(digits.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }

    #[test]
    fn arbitrary_bytes_are_rejected_or_read(bytes: Vec<u8>) {
        walk(&bytes);
        let length = i32::try_from(bytes.len() + 5).unwrap().to_le_bytes();
        walk(&[&length[..], &bytes, &[0]].concat());
    }

    #[test]
    fn damaged_documents_are_rejected_or_read(
        bytes in documents(),
        changes in written::changes(),
    ) {
        walk(&written::changed(bytes, changes));
    }

    #[test]
    fn shortened_documents_are_rejected(bytes in documents(), place: prop::sample::Index) {
        let short = &bytes[..place.index(bytes.len())];
        prop_assert!(Document::parse(short).is_err());
        let mut elements = Vec::new();
        let whole = Document::parse(&bytes).unwrap();
        let mut reading = whole.elements();
        while let Some(element) = reading.read().unwrap() {
            let mut out = Vec::new();
            let relaxed = Flavour::Relaxed;
            write_value_in_string(&mut out, &element, relaxed).unwrap();
            elements.push(out);
        }
        prop_assert!(elements.iter().all(|out| !out.is_empty()));
    }
}
