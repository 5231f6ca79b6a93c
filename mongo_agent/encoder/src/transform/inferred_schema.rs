//! Infers the schemas of documents like Debezium (`MongoDataConverter`).
//!
//! Every field is optional, and null has the type string. The elements of an array share one type;
//! documents in an array share the union of their fields. Structs are named by their paths.

use std::borrow::Cow;

use event_encoding::connect::{Schema, Shape};

use super::document_json::{ArrayEncoding, DocumentForm, adjust};
use super::fields::{Content, Field, element_name};
use crate::bson::{Document, Value};
use crate::error::{Problem, Result};

const REGEX: &str = "io.debezium.mongodb.regex";
/// Stands for an unnamed struct in the names of the structs inside it, as in Debezium.
pub(super) const UNNAMED: &str = "null";

/// The type of a value that contains no other values, by its letter in shape keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Scalar {
    /// Only nulls, which any type covers.
    Null = b'n',
    Text = b's',
    Double = b'd',
    Bytes = b'b',
    Int = b'i',
    Long = b'l',
    Time = b't',
    Boolean = b'f',
    Regex = b'r',
    DbPointer = b'p',
}

impl Scalar {
    /// Returns `None` for values that contain other values.
    pub(super) fn of_value(value: Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Null | Value::Undefined => Self::Null,
            Value::String(_)
            | Value::Code(_)
            | Value::Symbol(_)
            | Value::ObjectId(_)
            | Value::Decimal128(_)
            | Value::MinKey
            | Value::MaxKey => Self::Text,
            Value::Double(_) => Self::Double,
            Value::Binary { .. } => Self::Bytes,
            Value::Int32(_) => Self::Int,
            Value::Int64(_) => Self::Long,
            Value::DateTime(_) | Value::Timestamp(_) => Self::Time,
            Value::Boolean(_) => Self::Boolean,
            Value::Regex { .. } => Self::Regex,
            Value::DbPointer { .. } => Self::DbPointer,
            Value::CodeWithScope { .. } | Value::Document(_) | Value::Array(_) => return None,
        })
    }
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind<'b> {
    Scalar(Scalar),
    /// JavaScript with the fields of its scope.
    CodeWithScope(KindFields<'b>),
    Document(KindFields<'b>),
    /// The type of the elements.
    Array(Box<Kind<'b>>),
    /// An array that is written as a document.
    Elements(Vec<Kind<'b>>),
}

/// The type of nulls.
const NULL: Kind<'_> = Kind::Scalar(Scalar::Null);

type KindFields<'b> = Vec<(&'b [u8], Kind<'b>)>;

/// Infers the schema of a field of a message; `root` is the name of the message's schema.
pub(super) fn schema_of(field: &Field<'_>, root: &str, form: &DocumentForm<'_>) -> Result<Schema> {
    let key = String::from_utf8_lossy(&field.key);
    let schema = match field.content {
        Content::Value(value) => {
            let inference = Inference { form, field: &key };
            let kind = inference.kind(value, field.depth)?;
            return inference.schema(&kind, &format!("{root}{}", field.parent), &key);
        }
        Content::Flag(_) => Schema::new(Shape::Boolean),
        Content::Text(_) | Content::Member(_) => Schema::new(Shape::String),
    };
    Ok(schema.optional())
}

/// Infers the schema of one field.
struct Inference<'f> {
    form: &'f DocumentForm<'f>,
    /// The name of the field, for errors.
    field: &'f str,
}

impl Inference<'_> {
    /// `depth` is the depth of the document that contains the value.
    fn kind<'b>(&self, value: Value<'b>, depth: usize) -> Result<Kind<'b>> {
        let inner = depth.saturating_add(1);
        Ok(match value {
            Value::CodeWithScope { scope, .. } => Kind::CodeWithScope(self.fields(scope, inner)?),
            Value::Document(document) => Kind::Document(self.fields(document, inner)?),
            Value::Array(array) => {
                array.check_depth(inner)?;
                let mut kinds = Vec::new();
                let mut of_all = NULL;
                let mut elements = array.elements();
                while let Some(element) = elements.read()? {
                    let kind = self.kind(element.value, inner)?;
                    match self.form.arrays {
                        ArrayEncoding::Array => {
                            of_all = self.union(of_all, kind, array.offset())?;
                        }
                        ArrayEncoding::Document => kinds.push(kind),
                    }
                }
                match self.form.arrays {
                    ArrayEncoding::Array => Kind::Array(Box::new(of_all)),
                    ArrayEncoding::Document => Kind::Elements(kinds),
                }
            }
            value => Scalar::of_value(value).map_or(NULL, Kind::Scalar),
        })
    }

    fn fields<'b>(&self, document: Document<'b>, depth: usize) -> Result<KindFields<'b>> {
        document.check_depth(depth)?;
        let mut fields = Vec::new();
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            if element.value != Value::Undefined {
                fields.push((element.name, self.kind(element.value, depth)?));
            }
        }
        Ok(fields)
    }

    /// Returns the type that covers the values of both types.
    fn union<'b>(&self, known: Kind<'b>, other: Kind<'b>, offset: usize) -> Result<Kind<'b>> {
        match (known, other) {
            (NULL, kind) | (kind, NULL) => Ok(kind),
            (Kind::Document(known), Kind::Document(other)) => {
                Ok(Kind::Document(self.union_of_fields(known, other, offset)?))
            }
            (Kind::CodeWithScope(known), Kind::CodeWithScope(other)) => Ok(Kind::CodeWithScope(
                self.union_of_fields(known, other, offset)?,
            )),
            (Kind::Array(known), Kind::Array(other)) => {
                Ok(Kind::Array(Box::new(self.union(*known, *other, offset)?)))
            }
            (known, other) if known == other => Ok(known),
            _ => {
                let field = self.field.to_owned();
                Err(Problem::ArrayTypes { field }.at_offset(offset))
            }
        }
    }

    fn union_of_fields<'b>(
        &self,
        mut known: KindFields<'b>,
        other: KindFields<'b>,
        offset: usize,
    ) -> Result<KindFields<'b>> {
        for (index, (name, kind)) in other.into_iter().enumerate() {
            // Most documents of an array contain the same fields in the same order.
            let place = match known.get(index) {
                Some((same, _)) if *same == name => Some(index),
                _ => known.iter().position(|(same, _)| *same == name),
            };
            match place.and_then(|place| known.get_mut(place)) {
                Some((_, known)) => {
                    let before = std::mem::replace(known, NULL);
                    *known = self.union(before, kind, offset)?;
                }
                None => known.push((name, kind)),
            }
        }
        Ok(known)
    }

    /// Returns the schema of the field `key` of the struct `parent`.
    fn schema(&self, kind: &Kind<'_>, parent: &str, key: &str) -> Result<Schema> {
        let path = || format!("{parent}.{key}");
        let schema = match kind {
            Kind::Scalar(scalar) => match scalar {
                Scalar::Null | Scalar::Text => Schema::new(Shape::String),
                Scalar::Double => Schema::new(Shape::Double),
                Scalar::Bytes => Schema::new(Shape::Bytes),
                Scalar::Int => Schema::new(Shape::Int32),
                Scalar::Long => Schema::new(Shape::Int64),
                Scalar::Time => Schema::timestamp(),
                Scalar::Boolean => Schema::new(Shape::Boolean),
                Scalar::Regex => texts(["regex", "options"]).named(REGEX),
                Scalar::DbPointer => texts(["ref", "id"]).named(path()),
            },
            Kind::CodeWithScope(scope) => {
                let name = format!("{}.scope", path());
                let code = Schema::new(Shape::String).optional();
                let scope = self.structure(scope, &name)?.named(name).optional();
                Schema::structure(vec![("code", code), ("scope", scope)]).named(path())
            }
            Kind::Document(fields) if fields.is_empty() => Schema::structure(Vec::new()),
            Kind::Document(fields) => self.structure(fields, &path())?.named(path()),
            Kind::Array(items) => Schema::array(self.items(items, parent, key)?),
            Kind::Elements(kinds) => {
                let path = path();
                let mut fields = Vec::with_capacity(kinds.len());
                for (index, kind) in kinds.iter().enumerate() {
                    let name = element_name(index);
                    let name = String::from_utf8_lossy(&name).into_owned();
                    let schema = self.element(kind, &path, &name)?;
                    fields.push((name, schema));
                }
                Schema::new(Shape::Struct(fields)).named(path)
            }
        };
        Ok(schema.optional())
    }

    /// Returns the schema of the elements of an array.
    fn items(&self, kind: &Kind<'_>, parent: &str, key: &str) -> Result<Schema> {
        let path = format!("{parent}.{key}");
        let schema = match kind {
            Kind::Document(fields) => self.structure(fields, &path)?.named(path),
            Kind::Array(inner) => match &**inner {
                Kind::Document(fields) => {
                    Schema::array(self.structure(fields, UNNAMED)?.optional())
                }
                inner => Schema::array(self.items(inner, parent, key)?),
            },
            kind => return self.schema(kind, parent, key),
        };
        Ok(schema.optional())
    }

    /// Returns the schema of an element of an array that is written as a document. Empty structs
    /// are named only if they are fields of such an element.
    fn element(&self, kind: &Kind<'_>, parent: &str, key: &str) -> Result<Schema> {
        let Kind::Document(fields) = kind else {
            return self.schema(kind, parent, key);
        };
        let path = format!("{parent}.{key}");
        let mut schema = self.structure(fields, &path)?.named(path.as_str());
        if let Shape::Struct(schemas) = &mut schema.shape {
            for ((name, schema), (_, kind)) in schemas.iter_mut().zip(fields) {
                let is_empty = match kind {
                    Kind::Document(fields) => fields.is_empty(),
                    Kind::Elements(kinds) => kinds.is_empty(),
                    _ => false,
                };
                if is_empty {
                    let name = self.form.names.adjust(&format!("{path}.{name}"));
                    *schema = Schema::structure(Vec::new()).named(name).optional();
                }
            }
        }
        Ok(schema.optional())
    }

    fn structure(&self, fields: &KindFields<'_>, path: &str) -> Result<Schema> {
        let mut found: Vec<(String, Schema)> = Vec::with_capacity(fields.len());
        for (name, kind) in fields {
            let name: Cow<'_, [u8]> = adjust(name, self.form.names);
            let name = String::from_utf8_lossy(&name);
            let schema = self.schema(kind, path, &name)?;
            found.push((name.into_owned(), schema));
        }
        let schema = Schema::new(Shape::Struct(found));
        check_fields(&schema)?;
        Ok(schema)
    }
}

/// Rejects fields with equal names.
pub(super) fn check_fields(schema: &Schema) -> Result<()> {
    let Shape::Struct(fields) = &schema.shape else {
        return Ok(());
    };
    let mut names: Vec<_> = fields.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    let mut pairs = names.windows(2);
    match pairs.find_map(|pair| match pair {
        [known, other] if known == other => Some((*known).clone()),
        _ => None,
    }) {
        Some(name) => Err(Problem::NameTwice { name }.at_offset(0)),
        None => Ok(()),
    }
}

fn texts(names: [&str; 2]) -> Schema {
    let text = |name| (name, Schema::new(Shape::String).optional());
    Schema::structure(names.map(text).to_vec())
}
