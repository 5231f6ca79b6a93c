//! The union of the fields of all documents in an array. In Kafka Connect all elements share a
//! schema, so each document contains all fields; missing fields are null.

use indexmap::IndexMap;

use crate::bson::{Document, Value};
use crate::error::Result;

/// The union of the fields of several values. Only documents and arrays have fields.
#[derive(Debug, Default)]
pub(super) struct FieldsUnion<'b> {
    /// The fields of all documents, in the order of their first occurrence.
    pub fields: IndexMap<&'b [u8], FieldsUnion<'b>>,
    /// The union of the elements of all arrays.
    pub elements: Option<Box<FieldsUnion<'b>>>,
}

impl<'b> FieldsUnion<'b> {
    /// Returns the union of the elements of an array, or `None` if at most one element is a
    /// document or an array, whose fields are then complete.
    pub(super) fn of_array(array: Document<'b>, depth: usize) -> Result<Option<Self>> {
        let mut nested = 0_usize;
        let mut elements = array.elements();
        while let Some(element) = elements.read()? {
            nested += usize::from(matches!(
                element.value,
                Value::Document(_) | Value::Array(_)
            ));
        }
        if nested < 2 {
            return Ok(None);
        }
        let mut union = Self::default();
        union.add_elements(array, depth)?;
        Ok(Some(union))
    }

    fn add(&mut self, value: Value<'b>, depth: usize) -> Result<()> {
        match value {
            Value::Document(document) => self.add_fields(document, depth.saturating_add(1)),
            Value::Array(array) => {
                let elements = self.elements.get_or_insert_default();
                elements.add_elements(array, depth.saturating_add(1))
            }
            _ => Ok(()),
        }
    }

    fn add_fields(&mut self, document: Document<'b>, depth: usize) -> Result<()> {
        document.check_depth(depth)?;
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            if element.value != Value::Undefined {
                let field = self.fields.entry(element.name).or_default();
                field.add(element.value, depth)?;
            }
        }
        Ok(())
    }

    fn add_elements(&mut self, array: Document<'b>, depth: usize) -> Result<()> {
        array.check_depth(depth)?;
        let mut elements = array.elements();
        while let Some(element) = elements.read()? {
            self.add(element.value, depth)?;
        }
        Ok(())
    }
}
