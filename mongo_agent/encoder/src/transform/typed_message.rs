//! Writes keys and values with an inferred schema.

use event_encoding::connect::{Schema, Shape};
use event_encoding::schema_ids::MessagePart;

use super::document_json::DocumentForm;
use super::envelope_member::NamedMember;
use super::fields::{Content, Field};
use super::inferred_schema::{check_fields, schema_of};
use super::shape_key;
use super::typed_writer::TypedWriter;
use crate::error::Result;
use crate::format::{Encoding, EventFormat};
use crate::schemas::{self, Record};
use crate::shape_cache::{InferredSchema, TopicShapes};

/// What a schema describes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Root<'r> {
    /// A struct with its name; keys are unnamed.
    Struct(Option<&'r str>),
    /// The only field.
    Field,
}

/// A key or a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedMessage<'m> {
    pub part: MessagePart,
    pub root: Root<'m>,
    /// Prefix of the schema names of nested documents.
    pub path: &'m str,
    pub form: &'m DocumentForm<'m>,
    pub format: &'m EventFormat,
    pub shapes: TopicShapes<'m>,
}

impl TypedMessage<'_> {
    /// Appends the fields with their schema. `write_member` writes a member of the envelope.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        fields: &[Field<'_>],
        write_member: impl Fn(&mut Vec<u8>, &NamedMember) -> Result<()>,
    ) -> Result<()> {
        let shapes = &self.shapes;
        let encoding = self.encoding();
        let key = self.shape_key(fields)?;
        let inferred = shapes.cache.get_or_infer(&key, || {
            let schema = self.infer(fields)?;
            Ok(InferredSchema::new(
                self.part,
                shapes.topic,
                encoding,
                schema,
            ))
        })?;
        let wire_format = inferred.wire_format(&self.format.schema_ids, shapes.missing)?;
        out.extend_from_slice(&wire_format.start);
        let mut writer = TypedWriter {
            out,
            form: self.form,
            is_avro: encoding == Encoding::Avro,
        };
        match (self.root, fields) {
            (Root::Field, [field]) => writer.write_field(&inferred.schema, field)?,
            _ => {
                writer.write_fields(&inferred.schema, fields, write_member)?;
            }
        }
        out.extend_from_slice(wire_format.end);
        Ok(())
    }

    fn encoding(&self) -> Encoding {
        match self.part {
            MessagePart::Key => self.format.key,
            MessagePart::Value => self.format.value,
        }
    }

    fn shape_key(&self, fields: &[Field<'_>]) -> Result<Vec<u8>> {
        let name = match self.root {
            Root::Struct(name) => name.unwrap_or_default(),
            Root::Field => "",
        };
        let part = self.part.name();
        let topic = self.shapes.topic;
        let mut key = [part, topic, name, self.path, ""].join("\0").into_bytes();
        for field in fields {
            shape_key::write_field(&mut key, field, self.form)?;
        }
        Ok(key)
    }

    fn infer(&self, fields: &[Field<'_>]) -> Result<Schema> {
        let name = match (self.root, fields) {
            (Root::Field, [field]) => return schema_of(field, self.path, self.form),
            (Root::Struct(name), _) => name,
            (Root::Field, _) => None,
        };
        let format = self.format;
        let topic = self.shapes.topic;
        let has_members = fields
            .iter()
            .any(|field| matches!(field.content, Content::Member(_)));
        let envelope =
            has_members.then(|| schemas::value(Record::Document, topic, format.names, format));
        let mut found = Vec::with_capacity(fields.len());
        for field in fields {
            let known = match (&field.content, &envelope) {
                (Content::Member(member), Some(envelope)) => member.schema(envelope),
                _ => None,
            };
            let schema = match known {
                Some(schema) => schema,
                None => schema_of(field, self.path, self.form)?,
            };
            found.push((String::from_utf8_lossy(&field.name).into_owned(), schema));
        }
        let schema = Schema::new(Shape::Struct(found));
        check_fields(&schema)?;
        Ok(match name {
            Some(name) => schema.named(name),
            None => schema,
        })
    }
}
