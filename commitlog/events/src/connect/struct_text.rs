//! The text of Connect's `StringConverter`, such as `Struct{id=7,seq=3}`. It matches
//! `org.apache.kafka.connect.data.Struct#toString` and Java's collections.
//!
//! The text is converted from the message's JSON. Malformed JSON would shorten it without an error.
//! Bytes are base64, because Java prints the identity of an array, not its content.

use crate::value::text::{write_java_double, write_java_float};
use event_encoding::connect::{Schema, Shape};

/// Appends the text of a value of this schema, given as compact JSON.
pub fn write_text(out: &mut Vec<u8>, schema: &Schema, json: &[u8]) {
    StructTextReader { rest: json }.value(out, schema);
}

/// Reads JSON from start to end.
struct StructTextReader<'j> {
    rest: &'j [u8],
}

impl<'j> StructTextReader<'j> {
    /// Appends the text of the next value.
    fn value(&mut self, out: &mut Vec<u8>, schema: &Schema) {
        if self.rest.starts_with(b"null") {
            out.extend_from_slice(self.token());
            return;
        }
        match &schema.shape {
            Shape::Struct(fields) => self.structure(out, fields),
            Shape::Array(items) => {
                out.push(b'[');
                let mut separator: &[u8] = b"";
                self.read_enclosed(b'[', b']', |reader| {
                    out.extend_from_slice(separator);
                    separator = b", ";
                    reader.value(out, items);
                });
                out.push(b']');
            }
            Shape::Map(keys, values) => self.map(out, keys, values),
            Shape::Float => match self.number() {
                Some(number) => write_java_float(out, number),
                None => self.string(out),
            },
            Shape::Double => match self.number() {
                Some(number) => write_java_double(out, number),
                None => self.string(out),
            },
            Shape::String | Shape::Bytes => self.string(out),
            _ => out.extend_from_slice(self.token()),
        }
    }

    /// Appends the non-null fields in schema order.
    fn structure(&mut self, out: &mut Vec<u8>, fields: &[(String, Schema)]) {
        let mut texts: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
        self.read_enclosed(b'{', b'}', |reader| {
            let name = reader.name();
            let field = fields
                .iter()
                .position(|(field, _)| field.as_bytes() == name);
            let found = field.and_then(|place| texts.get_mut(place).zip(fields.get(place)));
            match found {
                Some((place, _)) if reader.rest.starts_with(b"null") => {
                    *place = None;
                    reader.skip();
                }
                Some((place, (_, schema))) => {
                    let mut text = Vec::new();
                    reader.value(&mut text, schema);
                    *place = Some(text);
                }
                None => reader.skip(),
            }
        });
        out.extend_from_slice(b"Struct{");
        let mut separator: &[u8] = b"";
        for ((name, _), text) in fields.iter().zip(texts) {
            if let Some(text) = text {
                out.extend_from_slice(separator);
                separator = b",";
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                out.extend_from_slice(&text);
            }
        }
        out.push(b'}');
    }

    /// Appends a map, which is an object or an array of pairs.
    fn map(&mut self, out: &mut Vec<u8>, keys: &Schema, values: &Schema) {
        out.push(b'{');
        let mut separator: &[u8] = b"";
        if self.rest.first() == Some(&b'{') {
            self.read_enclosed(b'{', b'}', |reader| {
                out.extend_from_slice(separator);
                separator = b", ";
                out.extend_from_slice(&reader.name());
                out.push(b'=');
                reader.value(out, values);
            });
        } else {
            self.read_enclosed(b'[', b']', |reader| {
                out.extend_from_slice(separator);
                separator = b", ";
                reader.bump(b'[');
                reader.value(out, keys);
                reader.bump(b',');
                out.push(b'=');
                reader.value(out, values);
                reader.bump(b']');
            });
        }
        out.push(b'}');
    }

    /// Reads comma-separated items between brackets.
    fn read_enclosed(&mut self, open: u8, close: u8, mut read_item: impl FnMut(&mut Self)) {
        self.bump(open);
        while !self.rest.is_empty() && !self.bump(close) {
            let before = self.rest.len();
            read_item(self);
            self.bump(b',');
            if self.rest.len() == before {
                self.rest = &[];
            }
        }
    }

    /// Reads the name of a member, and the colon after it.
    fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        self.string(&mut name);
        self.bump(b':');
        name
    }

    /// Reads a number, or returns `None` at a string, such as `"NaN"`.
    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        if self.rest.first() == Some(&b'"') {
            return None;
        }
        std::str::from_utf8(self.token()).ok()?.parse().ok()
    }

    /// Appends the content of a string.
    fn string(&mut self, out: &mut Vec<u8>) {
        let quoted = self.read_quoted();
        let inner = quoted.get(1..quoted.len().saturating_sub(1));
        match inner {
            Some(plain) if !plain.contains(&b'\\') => out.extend_from_slice(plain),
            _ => {
                let text: String = serde_json::from_slice(quoted).unwrap_or_default();
                out.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Reads a string with its quotes.
    fn read_quoted(&mut self) -> &'j [u8] {
        let mut is_escaped = false;
        let end = self.rest.iter().skip(1).position(|byte| {
            let is_end = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        });
        self.take(end.map_or(self.rest.len(), |end| end.saturating_add(2)))
    }

    /// Reads a number, `true`, `false` or `null`.
    fn token(&mut self) -> &'j [u8] {
        let end = self.rest.iter().position(|byte| b",]}:".contains(byte));
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// Skips a value.
    fn skip(&mut self) {
        match self.rest.first() {
            Some(b'"') => {
                self.read_quoted();
            }
            Some(b'{') => self.read_enclosed(b'{', b'}', |reader| {
                reader.name();
                reader.skip();
            }),
            Some(b'[') => self.read_enclosed(b'[', b']', Self::skip),
            _ => {
                self.token();
            }
        }
    }

    fn bump(&mut self, byte: u8) -> bool {
        let is_there = self.rest.first() == Some(&byte);
        if is_there {
            self.take(1);
        }
        is_there
    }

    fn take(&mut self, length: usize) -> &'j [u8] {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(schema: &Schema, json: &str) -> String {
        let mut out = Vec::new();
        write_text(&mut out, schema, json.as_bytes());
        String::from_utf8_lossy(&out).into_owned()
    }

    fn schema() -> Schema {
        let strings = || Schema::new(Shape::String).optional();
        let pair = Schema::structure(vec![("x", Schema::new(Shape::Double)), ("y", strings())]);
        let map = |keys| Schema::new(Shape::Map(Box::new(keys), Box::new(strings())));
        Schema::structure(vec![
            ("a", Schema::new(Shape::Int32)),
            ("b", strings()),
            ("c", Schema::array(pair)),
            ("d", map(strings())),
            ("e", map(Schema::new(Shape::Float))),
        ])
    }

    #[test]
    fn struct_text_matches_java() {
        let json = r#"{"e":[[1.5,"v"],["NaN",null]],"a":-1,"other":[{"a":"]"}],"b":"q\"\u00e9",
            "c":[{"x":1e23,"y":null},null],"d":{"k":"v","l":null}}"#
            .replace("\n            ", "");
        assert_eq!(
            text(&schema(), &json),
            "Struct{a=-1,b=q\"é,c=[Struct{x=1.0E23}, null],d={k=v, l=null},e={1.5=v, NaN=null}}"
        );
        assert_eq!(
            text(&schema(), r#"{"c":[],"d":{},"a":null}"#),
            "Struct{c=[],d={}}"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_terminate(json: Vec<u8>, start in "[{\\[\",:a-e]{0,12}") {
            let mut bytes = start.into_bytes();
            bytes.extend(json);
            let mut out = Vec::new();
            write_text(&mut out, &schema(), &bytes);
            let is_struct = out.starts_with(b"Struct{");
            prop_assert!(is_struct || bytes.starts_with(b"null"));
        }
    }
}
