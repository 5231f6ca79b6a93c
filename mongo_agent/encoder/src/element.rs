//! Reads elements of an expected type.

use crate::bson::{Document, Element, Value};
use crate::error::{BsonError, Problem, Result};

/// Reports an element of an unexpected type.
#[cold]
pub(crate) fn wrong(element: &Element<'_>, member: &'static str) -> BsonError {
    Problem::Member { member }.at_offset(element.offset)
}

pub(crate) fn text<'b>(element: &Element<'b>, member: &'static str) -> Result<&'b [u8]> {
    match element.value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(element, member)),
    }
}

pub(crate) fn integer(element: &Element<'_>, member: &'static str) -> Result<i64> {
    match element.value {
        Value::Int32(number) => Ok(i64::from(number)),
        Value::Int64(number) => Ok(number),
        _ => Err(wrong(element, member)),
    }
}

/// Returns `None` for null: `fullDocument` is null if the document was deleted before the lookup.
pub(crate) fn document<'b>(
    element: &Element<'b>,
    member: &'static str,
) -> Result<Option<Document<'b>>> {
    match element.value {
        Value::Document(document) => Ok(Some(document)),
        Value::Null => Ok(None),
        _ => Err(wrong(element, member)),
    }
}

pub(crate) fn array<'b>(
    element: &Element<'b>,
    member: &'static str,
) -> Result<Option<Document<'b>>> {
    match element.value {
        Value::Array(array) => Ok(Some(array)),
        Value::Null => Ok(None),
        _ => Err(wrong(element, member)),
    }
}
