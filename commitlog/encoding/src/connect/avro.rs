//! Schemas of Connect as Confluent's Avro converter writes them (`AvroData#fromConnectSchema`).
//!
//! Properties that Avro lacks are in members that begin with `connect.`, in its order, so that a
//! registry finds the schema that the converter registered.

use serde_json::{Map, Value, json};

use super::schema::{Schema, Shape, TIMESTAMP};

/// Names of what has none.
const NAMESPACE: &str = "io.confluent.connect.avro";
const UNNAMED: &str = "ConnectDefault";
/// The precision of a decimal by the converter.
const PRECISION: u32 = 64;

impl Schema {
    /// The schema as Avro's JSON. Names have to be such as Avro takes.
    pub fn avro(&self) -> Value {
        Writer::default().of(self)
    }
}

#[derive(Default)]
struct Writer {
    /// Records so far that have no name.
    unnamed: usize,
}

impl Writer {
    /// A union with null if it may be null; the default comes first.
    fn of(&mut self, schema: &Schema) -> Value {
        let base = self.base(schema);
        match (schema.is_optional, &schema.default) {
            (true, None) => json!(["null", base]),
            (true, Some(_)) => json!([base, "null"]),
            (false, _) => base,
        }
    }

    fn base(&mut self, schema: &Schema) -> Value {
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
        let of = match &schema.shape {
            Shape::Int8 | Shape::Int16 | Shape::Int32 => "int",
            Shape::Int64 => "long",
            Shape::Float => "float",
            Shape::Double => "double",
            Shape::Boolean => "boolean",
            Shape::String => "string",
            Shape::Bytes | Shape::Decimal => "bytes",
            Shape::Array(items) => {
                put("type", "array".into());
                put("items", self.of(items));
                return;
            }
            Shape::Map(keys, values) if keys.shape == Shape::String && !keys.is_optional => {
                put("type", "map".into());
                put("values", self.of(values));
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
                    put("namespace", namespace.into());
                }
                let fields = fields.iter().map(|(name, field)| self.field(name, field));
                let fields = fields.collect();
                put("fields", fields);
                return;
            }
        };
        put("type", of.into());
    }

    fn field(&mut self, name: &str, schema: &Schema) -> Value {
        let mut field = json!({"name": name, "type": self.of(schema)});
        let default = match &schema.default {
            Some(default) => Some(default.clone()),
            None => schema.is_optional.then_some(Value::Null),
        };
        if let (Some(default), Some(members)) = (default, field.as_object_mut()) {
            members.insert("default".to_owned(), default);
        }
        field
    }

    /// Namespace and name of a record.
    fn name(&mut self, schema: &Schema) -> (String, String) {
        if let Some(name) = &schema.name {
            let (namespace, name) = name.rsplit_once('.').unwrap_or(("", name));
            return (namespace.to_owned(), name.to_owned());
        }
        self.unnamed = self.unnamed.saturating_add(1);
        let number = match self.unnamed {
            1 => String::new(),
            number => number.to_string(),
        };
        (NAMESPACE.to_owned(), format!("{UNNAMED}{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_has_its_logical_type() {
        let expected = json!({
            "type": "long",
            "logicalType": "timestamp-millis",
            "connect.version": 1,
            "connect.name": "org.apache.kafka.connect.data.Timestamp",
        });
        assert_eq!(Schema::timestamp().avro(), expected);
    }
}
