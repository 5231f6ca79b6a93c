//! Fields that an update removed, written as null: a sink that upserts columns keeps the old value
//! of a field that a message omits.

use indexmap::IndexMap;

use crate::bson::{Document, MAX_DEPTH, Value};
use crate::bson_writer::{close, open, write_element, write_head};
use crate::element::text;
use crate::error::Result;

const NULL: u8 = 10;

/// Paths of removed fields as a tree, in the order of the update.
#[derive(Debug, Default)]
pub(super) struct RemovedFields<'b> {
    fields: IndexMap<&'b [u8], RemovedFields<'b>>,
    is_removed: bool,
}

impl<'b> RemovedFields<'b> {
    /// `paths` is the array `removedFields`. A path deeper than documents can be is ignored.
    pub(super) fn parse(paths: Document<'b>) -> Result<Self> {
        let mut tree = Self::default();
        let mut elements = paths.elements();
        while let Some(element) = elements.read()? {
            let path = text(&element, "removedFields")?;
            let names = path.split(|byte| *byte == b'.');
            if names.clone().count() <= MAX_DEPTH {
                tree.insert(names);
            }
        }
        Ok(tree)
    }

    fn insert(&mut self, mut names: impl Iterator<Item = &'b [u8]>) {
        match names.next() {
            Some(name) => self.fields.entry(name).or_default().insert(names),
            None => self.is_removed = true,
        }
    }

    /// Writes the document with null for each removed field that it lacks. Fields of a document that
    /// no longer exists are left out.
    pub(super) fn write_nulls(&self, out: &mut Vec<u8>, document: Document<'_>) -> Result<()> {
        self.write_nested(out, document, 1)
    }

    fn write_nested(&self, out: &mut Vec<u8>, document: Document<'_>, depth: usize) -> Result<()> {
        document.check_depth(depth)?;
        let start = open(out);
        let mut is_present = vec![false; self.fields.len()];
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            let found = self.fields.get_full(element.name);
            if let Some(flag) = found.and_then(|(place, ..)| is_present.get_mut(place)) {
                *flag = true;
            }
            match (found, element.value) {
                (Some((_, _, inner)), Value::Document(nested)) if !inner.fields.is_empty() => {
                    write_head(out, element.tag, element.name);
                    inner.write_nested(out, nested, depth.saturating_add(1))?;
                }
                _ => write_element(out, &element),
            }
        }
        for ((name, field), is_present) in self.fields.iter().zip(is_present) {
            if field.is_removed && !is_present {
                write_head(out, NULL, name);
            }
        }
        close(out, start)
    }
}
