//! Writes values according to their inferred schema, as JSON with a schema or as Avro.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;
use event_encoding::connect::{Schema, Shape};

use super::document_json::{
    DocumentForm, adjust, sort_options, write_flag, write_leaf, write_text,
};
use super::envelope_member::NamedMember;
use super::fields::{Content, Field};
use super::text_form::text_of;
use crate::bson::{Document, Value};
use crate::error::Result;
use crate::value_writer::{AvroWriter, ValueWriter};

pub(super) struct TypedWriter<'o, 'f> {
    pub out: &'o mut Vec<u8>,
    pub form: &'f DocumentForm<'f>,
    pub is_avro: bool,
}

impl TypedWriter<'_, '_> {
    /// Writes a struct. `write_member` writes members of the envelope.
    pub(super) fn write_fields(
        &mut self,
        schema: &Schema,
        fields: &[Field<'_>],
        write_member: impl Fn(&mut Vec<u8>, &NamedMember) -> Result<()>,
    ) -> Result<()> {
        let Shape::Struct(schemas) = &schema.shape else {
            return Ok(());
        };
        self.literal(b"{");
        for (index, ((name, schema), field)) in schemas.iter().zip(fields).enumerate() {
            self.name(name, index == 0);
            match field.content {
                Content::Member(member) => write_member(self.out, member)?,
                _ => self.write_field(schema, field)?,
            }
        }
        self.literal(b"}");
        Ok(())
    }

    /// Writes a field that is not a member of the envelope.
    pub(super) fn write_field(&mut self, schema: &Schema, field: &Field<'_>) -> Result<()> {
        match &field.content {
            Content::Value(value) => self.optional(schema, self.or_null(*value)?),
            Content::Text(text) => self.optional(schema, Some(Value::String(text))),
            Content::Flag(flag) => self.optional(schema, Some(Value::Boolean(*flag))),
            Content::Member(_) => Ok(()),
        }
    }

    /// Returns the value of a field. With adjusted names, Debezium writes an empty array as null.
    fn or_null<'b>(&self, value: Value<'b>) -> Result<Option<Value<'b>>> {
        let is_null = match value {
            Value::Array(array) if self.form.names != NameAdjustment::None => {
                array.elements().read()?.is_none()
            }
            _ => false,
        };
        Ok((!is_null).then_some(value))
    }

    fn optional(&mut self, schema: &Schema, value: Option<Value<'_>>) -> Result<()> {
        let value = value.unwrap_or(Value::Null);
        if matches!(value, Value::Null | Value::Undefined) {
            if self.is_avro {
                AvroWriter::new(self.out).null();
            } else {
                self.out.extend_from_slice(b"null");
            }
            return Ok(());
        }
        if self.is_avro {
            AvroWriter::new(self.out).present();
        }
        match (&schema.shape, value) {
            (Shape::Struct(fields), Value::Document(document)) => self.document(fields, document),
            (Shape::Struct(fields), Value::Array(array)) => {
                let mut values = Vec::with_capacity(fields.len());
                let mut elements = array.elements();
                while let Some(element) = elements.read()? {
                    values.push(Some(element.value));
                }
                self.structure(fields, values.into_iter())
            }
            (Shape::Struct(fields), Value::Regex { pattern, options }) => {
                let options = sort_options(options);
                let values = [Value::String(pattern), Value::String(&options)];
                self.structure(fields, values.into_iter().map(Some))
            }
            (Shape::Struct(fields), Value::DbPointer { namespace, id }) => {
                let values = [Value::String(namespace), Value::ObjectId(id)];
                self.structure(fields, values.into_iter().map(Some))
            }
            (Shape::Struct(fields), Value::CodeWithScope { code, scope }) => {
                let values = [Value::Code(code), Value::Document(scope)];
                self.structure(fields, values.into_iter().map(Some))
            }
            (Shape::Array(items), Value::Array(array)) => self.array(items, array),
            (_, value) => {
                self.leaf(value);
                Ok(())
            }
        }
    }

    fn document(&mut self, fields: &[(String, Schema)], document: Document<'_>) -> Result<()> {
        let mut found: Vec<(Cow<'_, [u8]>, Value<'_>)> = Vec::with_capacity(fields.len());
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            if element.value != Value::Undefined {
                found.push((adjust(element.name, self.form.names), element.value));
            }
        }
        let mut values = Vec::with_capacity(fields.len());
        let mut next = 0_usize;
        for (name, _) in fields {
            // The schema follows the order of this document, unless it is a union of several.
            let matches =
                |field: &(Cow<'_, [u8]>, Value<'_>)| String::from_utf8_lossy(&field.0) == *name;
            let place = match found.get(next) {
                Some(field) if matches(field) => Some(next),
                _ => found.iter().position(matches),
            };
            next = place.map_or(next, |place| place.saturating_add(1));
            let value = place.and_then(|place| found.get(place)).map(|f| f.1);
            values.push(match value {
                Some(value) => self.or_null(value)?,
                None => None,
            });
        }
        self.structure(fields, values.into_iter())
    }

    fn structure<'b>(
        &mut self,
        fields: &[(String, Schema)],
        values: impl Iterator<Item = Option<Value<'b>>>,
    ) -> Result<()> {
        self.literal(b"{");
        for (index, ((name, schema), value)) in fields.iter().zip(values).enumerate() {
            self.name(name, index == 0);
            self.optional(schema, value)?;
        }
        self.literal(b"}");
        Ok(())
    }

    fn array(&mut self, items: &Schema, array: Document<'_>) -> Result<()> {
        let mut values = Vec::new();
        let mut elements = array.elements();
        while let Some(element) = elements.read()? {
            values.push(element.value);
        }
        self.literal(b"[");
        if self.is_avro && !values.is_empty() {
            let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
            AvroWriter::new(self.out).number(count);
        }
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.literal(b",");
            }
            self.optional(items, Some(value))?;
        }
        self.out.push(if self.is_avro { 0 } else { b']' });
        Ok(())
    }

    /// Writes JSON that Avro does not contain.
    fn literal(&mut self, json: &[u8]) {
        if !self.is_avro {
            self.out.extend_from_slice(json);
        }
    }

    fn name(&mut self, name: &str, is_first: bool) {
        if !self.is_avro {
            if !is_first {
                self.out.push(b',');
            }
            write_text(self.out, name.as_bytes());
            self.out.push(b':');
        }
    }

    fn leaf(&mut self, value: Value<'_>) {
        if !self.is_avro {
            return write_leaf(self.out, value);
        }
        let mut writer = AvroWriter::new(self.out);
        match value {
            Value::MinKey => writer.plain("MinKey"),
            Value::MaxKey => writer.plain("MaxKey"),
            Value::Binary { bytes, .. } => writer.bytes(bytes),
            Value::Double(number) => self.out.extend_from_slice(&number.to_le_bytes()),
            Value::Int32(number) => writer.number(i64::from(number)),
            Value::Int64(number) | Value::DateTime(number) => writer.number(number),
            Value::Timestamp(time) => writer.number(i64::from(time.seconds) * 1000),
            Value::Boolean(value) => writer.boolean(value),
            value => writer.text(&text_of(&value).unwrap_or_default()),
        }
    }
}

/// Writes a value without a schema.
pub(super) fn write_untyped(
    out: &mut Vec<u8>,
    field: &Field<'_>,
    form: &DocumentForm<'_>,
) -> Result<()> {
    match &field.content {
        Content::Value(value) => {
            super::document_json::write_field(out, *value, form, field.depth)?;
        }
        Content::Text(text) => write_text(out, text),
        Content::Flag(flag) => write_flag(out, *flag),
        Content::Member(_) => {}
    }
    Ok(())
}
