//! `ExtractNewDocumentState`: replaces the envelope with the document.

use std::borrow::Cow;

use event_encoding::avro_names::NameAdjustment;
use event_encoding::schema_ids::MessagePart;

use super::document_json::{ArrayEncoding, DocumentForm, write_value};
use super::envelope_member::NamedMember;
use super::fields::{Content, Field, Fields, write_object};
use super::inferred_schema::UNNAMED;
use super::removed_fields::RemovedFields;
use super::typed_message::{Root, TypedMessage};
use super::typed_writer::write_untyped;
use crate::bson::{Document, Value};
use crate::change::{Change, UpdateDescription};
use crate::element::text;
use crate::error::Result;
use crate::extras::Header;
use crate::format::{Encoding, EventFormat, adjust_path, names_in};
use crate::layout::ValueContext;
use crate::shape_cache::TopicShapes;
use crate::value_writer::{AvroWriter, JsonWriter};

const KEY: &[u8] = b"id";
const DELETED: &[u8] = b"__deleted";
const ID: &[u8] = b"_id";

/// The messages for deletes (`delete.tombstone.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeleteHandling {
    /// No message.
    Drop,
    /// One message without a value; no tombstone follows.
    #[default]
    Tombstone,
    /// The document before the delete; all messages contain `__deleted`.
    Rewrite,
    /// Like `Rewrite`, but a tombstone follows.
    RewriteWithTombstone,
}

impl DeleteHandling {
    pub const NAMES: [(&str, Self); 4] = [
        ("drop", Self::Drop),
        ("tombstone", Self::Tombstone),
        ("rewrite", Self::Rewrite),
        ("rewrite-with-tombstone", Self::RewriteWithTombstone),
    ];

    fn rewrites(self) -> bool {
        matches!(self, Self::Rewrite | Self::RewriteWithTombstone)
    }
}

/// The options of the transformation.
#[derive(Debug, Clone, Default)]
pub struct ExtractDocument {
    pub arrays: ArrayEncoding,
    /// `flatten.struct.delimiter`, if `flatten.struct` is true.
    pub delimiter: Option<String>,
    pub deletes: DeleteHandling,
    /// Whether a rewritten delete without a document contains `_id`.
    pub rewrites_with_id: bool,
    pub fields: Vec<NamedMember>,
    pub headers: Vec<NamedMember>,
    /// Adjustment of field names.
    pub names: NameAdjustment,
    /// Whether a message omits the fields that an update removed, as Debezium before 3.7; otherwise
    /// they are null.
    pub omits_removed_fields: bool,
}

/// The messages of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Dropped,
    Message { has_tombstone: bool },
}

impl ExtractDocument {
    pub(crate) fn outcome(&self, change: &Change<'_>, tombstones: bool) -> Outcome {
        let is_delete = is_delete(change);
        if is_delete && self.deletes == DeleteHandling::Drop {
            return Outcome::Dropped;
        }
        let has_tombstone =
            is_delete && tombstones && self.deletes == DeleteHandling::RewriteWithTombstone;
        Outcome::Message { has_tombstone }
    }

    /// Writes `{"id":<value of _id>}`.
    pub(crate) fn write_key(
        &self,
        out: &mut Vec<u8>,
        change: &Change<'_>,
        format: &EventFormat,
        shapes: TopicShapes<'_>,
    ) -> Result<()> {
        let form = DocumentForm {
            delimiter: None,
            ..self.form(format.key)
        };
        let field = Field::new(KEY, Content::Value(change.id.value));
        let message = TypedMessage {
            part: MessagePart::Key,
            root: Root::Struct(None),
            path: UNNAMED,
            form: &form,
            format,
            shapes,
        };
        match format.key {
            Encoding::Json => write_object(out, &[field], |out, _| {
                write_value(out, change.id.value, &form, 1)
            }),
            _ => message.write(out, &[field], |_, _| Ok(())),
        }
    }

    /// Writes the value; appends nothing for a message without a value.
    pub(crate) fn write_value(
        &self,
        out: &mut Vec<u8>,
        change: &Change<'_>,
        context: &ValueContext<'_>,
        shapes: TopicShapes<'_>,
    ) -> Result<()> {
        let format = context.format;
        let form = self.form(format.value);
        let start = out.len();
        let completed = self.with_removed_fields(change)?;
        let completed = completed.as_deref().map(Document::parse).transpose()?;
        let fields = self.fields(change, completed.or(change.after), &form)?;
        let write_member = |out: &mut Vec<u8>, member: &NamedMember| match format.value {
            Encoding::Avro => member.write(&mut AvroWriter::new(out), change, context),
            json => member.write(&mut JsonWriter::new(out, json), change, context),
        };
        let written = if format.value == Encoding::Json {
            write_object(out, &fields, |out, field| match field.content {
                Content::Member(member) => write_member(out, member),
                _ => write_untyped(out, field, &form),
            })
        } else if fields.is_empty() {
            Ok(())
        } else {
            let name = schema_name(format, shapes.topic, form.names);
            let message = TypedMessage {
                part: MessagePart::Value,
                root: Root::Struct(Some(&name)),
                path: &name,
                form: &form,
                format,
                shapes,
            };
            message.write(out, &fields, write_member)
        };
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// The document after an update, with null for each removed field; `None` for other changes.
    fn with_removed_fields(&self, change: &Change<'_>) -> Result<Option<Vec<u8>>> {
        let removed = change.update.and_then(|update| update.removed_fields);
        let (Some(after), Some(removed)) = (change.after, removed) else {
            return Ok(None);
        };
        if self.omits_removed_fields {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(after.bytes().len());
        RemovedFields::parse(removed)?.write_nulls(&mut out, after)?;
        Ok(Some(out))
    }

    fn fields<'c>(
        &'c self,
        change: &Change<'c>,
        after: Option<Document<'c>>,
        form: &'c DocumentForm<'_>,
    ) -> Result<Vec<Field<'c>>> {
        let is_delete = is_delete(change);
        let before = change
            .before
            .filter(|_| is_delete && self.deletes.rewrites());
        let document = after.or(before);
        let mut fields = Fields::new(form);
        let mut has_id = true;
        if let Some(document) = document {
            fields.add_document(document)?;
        } else if let Some(update) = &change.update {
            self.add_update(&mut fields, update, change)?;
        } else {
            has_id = false;
        }
        if self.deletes.rewrites() {
            fields.add_flag(DELETED, is_delete);
            if self.rewrites_with_id && !has_id {
                fields.add_field(ID, change.id.value)?;
            }
        }
        if !fields.all.is_empty() {
            for member in &self.fields {
                fields.add(member.name.as_bytes(), Content::Member(member));
            }
        }
        Ok(fields.all)
    }

    /// Adds the updated and removed fields under their paths, and `_id`.
    fn add_update<'c>(
        &self,
        fields: &mut Fields<'c, '_>,
        update: &UpdateDescription<'c>,
        change: &Change<'c>,
    ) -> Result<()> {
        let mut has_id = false;
        if let Some(updated) = update.updated_fields {
            let mut elements = updated.elements();
            while let Some(element) = elements.read()? {
                has_id |= element.name == ID;
                fields.add_field(self.joined(element.name), element.value)?;
            }
        }
        if let Some(removed) = update.removed_fields.filter(|_| !self.omits_removed_fields) {
            let mut elements = removed.elements();
            while let Some(element) = elements.read()? {
                let path = text(&element, "removedFields")?;
                fields.add_field(self.joined(path), Value::Null)?;
            }
        }
        if !has_id {
            fields.add_field(ID, change.id.value)?;
        }
        Ok(())
    }

    /// The name of an updated field: its path, with the delimiter for each dot.
    fn joined<'c>(&self, path: &'c [u8]) -> Cow<'c, [u8]> {
        match &self.delimiter {
            Some(delimiter) => {
                let names: Vec<_> = path.split(|byte| *byte == b'.').collect();
                Cow::Owned(names.join(delimiter.as_bytes()))
            }
            None => Cow::Borrowed(path),
        }
    }

    /// Returns the headers of the message and of its tombstone.
    pub(crate) fn headers(
        &self,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<(Vec<Header>, Vec<Header>)> {
        let mut found = (Vec::new(), Vec::new());
        for member in &self.headers {
            let Some(value) = member.header(change, context)? else {
                continue;
            };
            let header = Header {
                name: member.name.clone(),
                value,
            };
            if member.is_operation() {
                found.1.push(header.clone());
            }
            found.0.push(header);
        }
        Ok(found)
    }

    /// Returns the options for writing documents.
    fn form(&self, encoding: Encoding) -> DocumentForm<'_> {
        DocumentForm {
            arrays: self.arrays,
            names: names_in(encoding, self.names),
            delimiter: self.delimiter.as_deref(),
        }
    }
}

/// Returns the schema name of values: the topic, adjusted as a schema name and a field name.
fn schema_name(format: &EventFormat, topic: &str, of_fields: NameAdjustment) -> String {
    let names = names_in(format.value, format.names);
    adjust_path(topic, |part| of_fields.adjust(&names.adjust(part)))
}

/// Whether a change contains neither a document nor an update description.
fn is_delete(change: &Change<'_>) -> bool {
    change.after.is_none() && change.update.is_none()
}
