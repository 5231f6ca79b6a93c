//! `ExtractNewDocumentState`: the document instead of the envelope.

use event_encoding::avro_names::NameAdjustment;

use super::document_json::{ArrayEncoding, DocumentForm, ObjectWriter, write_value};
use super::envelope_member::NamedMember;
use crate::bson::Document;
use crate::change::Change;
use crate::error::Result;
use crate::extras::Header;
use crate::layout::ValueContext;

const DELETED: &[u8] = b"__deleted";
const ID: &[u8] = b"_id";

/// The messages of deletes (`delete.tombstone.handling.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeleteHandling {
    /// None.
    Drop,
    /// One without a value; no other tombstone follows.
    #[default]
    Tombstone,
    /// The document before the delete, with `__deleted`, which all messages have.
    Rewrite,
    /// The same, and the tombstone after it.
    RewriteWithTombstone,
}

impl DeleteHandling {
    pub const ALL: [Self; 4] = [
        Self::Drop,
        Self::Tombstone,
        Self::Rewrite,
        Self::RewriteWithTombstone,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Tombstone => "tombstone",
            Self::Rewrite => "rewrite",
            Self::RewriteWithTombstone => "rewrite-with-tombstone",
        }
    }

    fn rewrites(self) -> bool {
        matches!(self, Self::Rewrite | Self::RewriteWithTombstone)
    }
}

/// The options of the transformation.
#[derive(Debug, Clone, Default)]
pub struct ExtractDocument {
    pub arrays: ArrayEncoding,
    /// `flatten.struct.delimiter`, with `flatten.struct`.
    pub delimiter: Option<String>,
    pub deletes: DeleteHandling,
    /// Whether a rewritten delete without a document has its `_id`.
    pub rewrites_with_id: bool,
    pub fields: Vec<NamedMember>,
    pub headers: Vec<NamedMember>,
    /// Adjustment of the names of fields.
    pub names: NameAdjustment,
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

    /// `{"id":<value of _id>}`
    pub(crate) fn write_key(&self, out: &mut Vec<u8>, change: &Change<'_>) -> Result<()> {
        let form = DocumentForm {
            delimiter: None,
            ..self.form()
        };
        out.extend_from_slice(br#"{"id":"#);
        write_value(out, change.id.value, &form, 1)?;
        out.push(b'}');
        Ok(())
    }

    /// Appends nothing for a message without a value.
    pub(crate) fn write_value(
        &self,
        out: &mut Vec<u8>,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<()> {
        let form = self.form();
        let start = out.len();
        let is_delete = is_delete(change);
        let before = change
            .before
            .filter(|_| is_delete && self.deletes.rewrites());
        let document = change.after.or(before);
        let mut object = ObjectWriter::open(out, &form);
        let mut has_id = true;
        if let Some(document) = document {
            object.add_fields(document)?;
        } else if let Some(update) = &change.update {
            self.add_update(&mut object, update.updated_fields, change)?;
        } else {
            has_id = false;
        }
        if self.deletes.rewrites() {
            object.add_flag(DELETED, is_delete);
            if self.rewrites_with_id && !has_id {
                object.add_field(ID, &change.id)?;
            }
        }
        if !object.is_empty() {
            for member in &self.fields {
                let name = member.name.as_bytes();
                object.add(name, |out| member.write(out, change, context))?;
            }
        }
        let closed = object.close();
        if closed.is_err() {
            out.truncate(start);
        }
        closed
    }

    /// The updated fields under their paths, and `_id`.
    fn add_update(
        &self,
        object: &mut ObjectWriter<'_, '_>,
        updated_fields: Option<Document<'_>>,
        change: &Change<'_>,
    ) -> Result<()> {
        let mut has_id = false;
        if let Some(fields) = updated_fields {
            let mut elements = fields.elements();
            while let Some(element) = elements.read()? {
                has_id |= element.name == ID;
                match &self.delimiter {
                    Some(delimiter) => {
                        let path: Vec<_> = element.name.split(|byte| *byte == b'.').collect();
                        object.add_field(&path.join(delimiter.as_bytes()), &element)?;
                    }
                    None => object.add_field(element.name, &element)?,
                }
            }
        }
        if !has_id {
            object.add_field(ID, &change.id)?;
        }
        Ok(())
    }

    /// The headers of the message, and those of its tombstone.
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

    fn form(&self) -> DocumentForm<'_> {
        DocumentForm {
            arrays: self.arrays,
            names: self.names,
            delimiter: self.delimiter.as_deref(),
        }
    }
}

/// A change without any document.
fn is_delete(change: &Change<'_>) -> bool {
    change.after.is_none() && change.update.is_none()
}
