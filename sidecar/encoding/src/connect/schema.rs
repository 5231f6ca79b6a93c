//! Schemas of Kafka Connect, and their JSON as `JsonConverter` writes it.

use serde_json::{Map, Value};

/// The name of [`Schema::timestamp`].
pub(super) const TIMESTAMP: &str = "org.apache.kafka.connect.data.Timestamp";

/// A schema (`org.apache.kafka.connect.data.Schema`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    pub shape: Shape,
    pub(super) is_optional: bool,
    pub(super) name: Option<String>,
    pub(super) version: Option<u32>,
    pub(super) doc: Option<&'static str>,
    /// Name and value of a parameter.
    pub(super) parameter: Option<(&'static str, &'static str)>,
    pub(super) default: Option<Value>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    Boolean,
    String,
    Bytes,
    /// The bytes of an integer of any size (`org.apache.kafka.connect.data.Decimal`).
    Decimal,
    Array(Box<Schema>),
    /// Keys and values.
    Map(Box<Schema>, Box<Schema>),
    /// Fields by name, in their order.
    Struct(Vec<(String, Schema)>),
}

impl Schema {
    /// Creates a schema whose values are never null.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            is_optional: false,
            name: None,
            version: None,
            doc: None,
            parameter: None,
            default: None,
        }
    }

    pub fn structure(fields: Vec<(&str, Self)>) -> Self {
        let fields = fields.into_iter();
        Self::new(Shape::Struct(
            fields
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect(),
        ))
    }

    pub fn array(items: Self) -> Self {
        Self::new(Shape::Array(Box::new(items)))
    }

    /// Creates the schema of milliseconds since 1970 (`org.apache.kafka.connect.data.Timestamp`).
    pub fn timestamp() -> Self {
        Self::new(Shape::Int64).named(TIMESTAMP).versioned(1)
    }

    /// Returns the schema of a field of a struct.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match &self.shape {
            Shape::Struct(fields) => Some(&fields.iter().find(|field| field.0 == name)?.1),
            _ => None,
        }
    }

    #[must_use]
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    #[must_use]
    pub fn without_default(mut self) -> Self {
        self.default = None;
        self
    }

    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    #[must_use]
    pub fn versioned(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    #[must_use]
    pub fn documented(mut self, doc: &'static str) -> Self {
        self.doc = Some(doc);
        self
    }

    #[must_use]
    pub fn with_parameter(mut self, name: &'static str, value: &'static str) -> Self {
        self.parameter = Some((name, value));
        self
    }

    #[must_use]
    pub fn with_default(mut self, default: impl Into<Value>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Returns the JSON, with members in the order of `JsonConverter#asJsonSchema`.
    pub fn json(&self) -> Value {
        Value::Object(self.members())
    }

    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("type", self.shape.name().into());
        match &self.shape {
            Shape::Array(items) => {
                put("items", items.json());
            }
            Shape::Map(keys, values) => {
                put("keys", keys.json());
                put("values", values.json());
            }
            Shape::Struct(fields) => {
                let fields = fields.iter().map(|(name, schema)| {
                    let mut field = schema.members();
                    field.insert("field".to_owned(), name.as_str().into());
                    Value::Object(field)
                });
                put("fields", fields.collect());
            }
            _ => {}
        }
        put("optional", self.is_optional.into());
        if let Some(name) = &self.name {
            put("name", name.as_str().into());
        }
        if let Some(version) = self.version {
            put("version", version.into());
        }
        if let Some(doc) = self.doc {
            put("doc", doc.into());
        }
        if let Some((name, value)) = self.parameter {
            let parameter = (name.to_owned(), Value::from(value));
            put(
                "parameters",
                Value::Object([parameter].into_iter().collect()),
            );
        }
        if let Some(default) = &self.default {
            put("default", default.clone());
        }
        members
    }
}

impl Shape {
    /// The name in `type`.
    fn name(&self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Boolean => "boolean",
            Self::String => "string",
            Self::Bytes | Self::Decimal => "bytes",
            Self::Array(_) => "array",
            Self::Map(..) => "map",
            Self::Struct(_) => "struct",
        }
    }
}
