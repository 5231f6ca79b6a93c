//! Writes Connect schemas like Confluent's Avro converter (`AvroData#fromConnectSchema`).
//!
//! Members that begin with `connect.` describe properties that Avro does not support. Their order
//! is the converter's, so that a registry recognizes the schema that the converter registered.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::schema::{Schema, Shape, TIMESTAMP};

/// Namespace and name of unnamed records.
const NAMESPACE: &str = "io.confluent.connect.avro";
const UNNAMED: &str = "ConnectDefault";
/// The precision that the converter assigns to decimals.
const PRECISION: u32 = 64;

impl Schema {
    /// Returns the schema as Avro JSON. All names must be valid in Avro.
    pub fn avro(&self) -> Value {
        Writer::default().write(self)
    }
}

#[derive(Default)]
struct Writer {
    /// Unnamed records so far; equal records share a name.
    unnamed: Vec<Schema>,
    /// Records so far by their full name; an equal later record refers to the first.
    records: HashMap<String, Schema>,
    /// The namespace of the enclosing record.
    namespace: String,
}

impl Writer {
    /// Writes a schema; an optional schema is a union with null, in which the default comes first.
    fn write(&mut self, schema: &Schema) -> Value {
        let base = self.base(schema);
        match (schema.is_optional, &schema.default) {
            (true, None) => json!(["null", base]),
            (true, Some(_)) => json!([base, "null"]),
            (false, _) => base,
        }
    }

    fn base(&mut self, schema: &Schema) -> Value {
        if let Some(reference) = self.reference(schema) {
            return reference;
        }
        let mut members = Map::new();
        self.put_shape(schema, &mut members);
        if schema.name.as_deref() == Some(TIMESTAMP) {
            members.insert("logicalType".to_owned(), "timestamp-millis".into());
        }
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        if let Some(doc) = schema.doc {
            put("connect.doc", doc.into());
        }
        if let Some(version) = schema.version {
            put("connect.version", version.into());
        }
        if let Some((name, value)) = schema.parameter {
            let parameter = (name.to_owned(), Value::from(value));
            let parameters = Value::Object([parameter].into_iter().collect());
            put("connect.parameters", parameters);
        }
        if let Some(default) = &schema.default {
            put("connect.default", default.clone());
        }
        if let Some(name) = &schema.name {
            put("connect.name", name.as_str().into());
        }
        match schema.shape {
            Shape::Int8 => drop(put("connect.type", "int8".into())),
            Shape::Int16 => drop(put("connect.type", "int16".into())),
            Shape::Decimal => {
                put("logicalType", "decimal".into());
                put("precision", PRECISION.into());
                put("scale", 0.into());
            }
            _ => {}
        }
        match members.get("type") {
            Some(alone) if members.len() == 1 => alone.clone(),
            _ => Value::Object(members),
        }
    }

    fn put_shape(&mut self, schema: &Schema, members: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        let type_name = match &schema.shape {
            Shape::Int8 | Shape::Int16 | Shape::Int32 => "int",
            Shape::Int64 => "long",
            Shape::Float => "float",
            Shape::Double => "double",
            Shape::Boolean => "boolean",
            Shape::String => "string",
            Shape::Bytes | Shape::Decimal => "bytes",
            Shape::Array(items) => {
                put("type", "array".into());
                put("items", self.write(items));
                return;
            }
            Shape::Map(keys, values) if keys.shape == Shape::String && !keys.is_optional => {
                put("type", "map".into());
                put("values", self.write(values));
                return;
            }
            Shape::Map(keys, values) => {
                let fields = [self.field("key", keys), self.field("value", values)];
                let entry = json!({
                    "type": "record", "name": "MapEntry", "namespace": NAMESPACE, "fields": fields,
                });
                put("type", "array".into());
                put("items", entry);
                return;
            }
            Shape::Struct(fields) => {
                let (namespace, name) = self.name(schema);
                put("type", "record".into());
                put("name", name.into());
                if !namespace.is_empty() {
                    put("namespace", namespace.as_str().into());
                }
                let outer = std::mem::replace(&mut self.namespace, namespace);
                let fields = fields.iter().map(|(name, field)| self.field(name, field));
                let fields = fields.collect();
                put("fields", fields);
                self.namespace = outer;
                return;
            }
        };
        put("type", type_name.into());
    }

    fn field(&mut self, name: &str, schema: &Schema) -> Value {
        let mut field = json!({"name": name, "type": self.write(schema)});
        let default = match &schema.default {
            Some(default) => Some(default.clone()),
            None => schema.is_optional.then_some(Value::Null),
        };
        if let (Some(default), Some(members)) = (default, field.as_object_mut()) {
            members.insert("default".to_owned(), default);
        }
        field
    }

    /// Returns a reference to an equal record of that name, because Avro defines each name once.
    fn reference(&self, schema: &Schema) -> Option<Value> {
        let name = if let Some(name) = &schema.name {
            let known = self.records.get(name)?;
            let is_same = known.shape == schema.shape && known.version == schema.version;
            is_same.then(|| name.clone())?
        } else {
            let number = self.unnamed.iter().position(|known| known == schema)?;
            format!("{NAMESPACE}.{}", unnamed(number))
        };
        let local = name
            .rsplit_once('.')
            .filter(|(namespace, _)| *namespace == self.namespace);
        Some(local.map_or(name.as_str(), |(_, name)| name).into())
    }

    /// Returns namespace and name of a record. A number distinguishes records of equal names.
    fn name(&mut self, schema: &Schema) -> (String, String) {
        if let Some(name) = &schema.name {
            let mut full = name.clone();
            let mut number = 1;
            while self.records.contains_key(&full) {
                number += 1;
                full = format!("{name}{number}");
            }
            self.records.insert(full.clone(), schema.clone());
            let (namespace, name) = full.rsplit_once('.').unwrap_or(("", &full));
            return (namespace.to_owned(), name.to_owned());
        }
        let number = self.unnamed.len();
        self.unnamed.push(schema.clone());
        (NAMESPACE.to_owned(), unnamed(number))
    }
}

/// Returns the name of an unnamed record that follows this number of others.
fn unnamed(others: usize) -> String {
    match others {
        0 => UNNAMED.to_owned(),
        others => format!("{UNNAMED}{}", others.saturating_add(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_defined_once() {
        let record = |shape| Schema::structure(vec![("x", Schema::new(shape))]).named("n.R");
        let schema = Schema::structure(vec![
            ("a", record(Shape::Int32)),
            ("b", record(Shape::Int32).optional()),
            ("c", record(Shape::String)),
        ]);
        let kinds = |namespace: &str| {
            let avro = schema.clone().named(format!("{namespace}.S")).avro();
            let fields = avro.get("fields").cloned().unwrap_or_default();
            let kind = |index: usize| fields.pointer(&format!("/{index}/type")).cloned();
            (kind(1), kind(2).and_then(|kind| kind.get("name").cloned()))
        };
        assert_eq!(
            kinds("m"),
            (Some(json!(["null", "n.R"])), Some(json!("R2")))
        );
        assert_eq!(kinds("n").0, Some(json!(["null", "R"])));
    }

    #[test]
    fn equal_unnamed_records_are_one() {
        let record = |shape| Schema::structure(vec![("x", Schema::new(shape))]).optional();
        let schema = Schema::structure(vec![
            ("a", record(Shape::Int32)),
            ("b", record(Shape::String)),
            ("c", record(Shape::Int32)),
        ]);
        let avro = schema.named("n.S").avro();
        let kind =
            |field: usize, path: &str| avro.pointer(&format!("/fields/{field}/type/1{path}"));
        assert_eq!(kind(0, "/name"), Some(&json!("ConnectDefault")));
        assert_eq!(kind(1, "/name"), Some(&json!("ConnectDefault2")));
        let reference = json!("io.confluent.connect.avro.ConnectDefault");
        assert_eq!(kind(2, ""), Some(&reference));
    }

    #[test]
    fn timestamp_has_logical_type() {
        let expected = json!({
            "type": "long",
            "logicalType": "timestamp-millis",
            "connect.version": 1,
            "connect.name": "org.apache.kafka.connect.data.Timestamp",
        });
        assert_eq!(Schema::timestamp().avro(), expected);
    }
}
