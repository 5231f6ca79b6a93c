//! The union of the fields of all documents in an array. In Kafka Connect all elements share a
//! schema, so each document contains all fields; missing fields are null.

use std::collections::HashMap;

use crate::bson::{Document, MAX_DEPTH, Value};
use crate::error::{Problem, Result};

/// The union of the fields of several values. Only documents and arrays have fields.
#[derive(Debug, Default)]
pub(super) struct FieldsUnion<'b> {
    /// The fields of all documents, in the order of their first occurrence.
    pub fields: Vec<(&'b [u8], FieldsUnion<'b>)>,
    places: HashMap<&'b [u8], usize>,
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

    /// Index of a field.
    pub(super) fn place(&self, name: &[u8]) -> Option<usize> {
        self.places.get(name).copied()
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
        check_depth(document, depth)?;
        let mut elements = document.elements();
        while let Some(element) = elements.read()? {
            if element.value == Value::Undefined {
                continue;
            }
            let next = self.fields.len();
            let place = *self.places.entry(element.name).or_insert(next);
            if place == next {
                self.fields.push((element.name, Self::default()));
            }
            if let Some((_, field)) = self.fields.get_mut(place) {
                field.add(element.value, depth)?;
            }
        }
        Ok(())
    }

    fn add_elements(&mut self, array: Document<'b>, depth: usize) -> Result<()> {
        check_depth(array, depth)?;
        let mut elements = array.elements();
        while let Some(element) = elements.read()? {
            self.add(element.value, depth)?;
        }
        Ok(())
    }
}

pub(super) fn check_depth(document: Document<'_>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Problem::Depth { limit: MAX_DEPTH }.at_offset(document.offset()));
    }
    Ok(())
}
