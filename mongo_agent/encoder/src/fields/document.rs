//! Applies field rules to documents, element by element.

use super::Rule;
use crate::bson::{Document, Element, Value};
use crate::bson_writer::{close, open, write_element, write_head};
use crate::error::{BsonError, Problem, Result};

/// Applies rules in order. A rule whose outermost field is absent only scans the names.
pub(super) fn rewrite<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    document: Document<'_>,
) -> Result<Vec<u8>> {
    let mut current = document.bytes().to_vec();
    for rule in rules {
        let before = Document::parse(&current)?;
        let [outermost, ..] = rule.path.as_slice() else {
            continue;
        };
        if before.find(outermost)?.is_some() {
            let mut out = Vec::with_capacity(current.len());
            write_value_with_rules(&mut out, before, &rule.path, rule.new_name.as_deref())?;
            current = out;
        }
    }
    Ok(current)
}

/// Writes a document without the field at a path, or with its new name. As in Debezium, a renamed
/// field moves to the end, and rules do not apply inside nested arrays.
fn write_value_with_rules(
    out: &mut Vec<u8>,
    document: Document<'_>,
    path: &[Box<[u8]>],
    new_name: Option<&[u8]>,
) -> Result<()> {
    let Some((name, deeper)) = path.split_first() else {
        out.extend_from_slice(document.bytes());
        return Ok(());
    };
    let start = open(out);
    let own_name = new_name.filter(|_| deeper.is_empty());
    let mut is_taken = false;
    let mut moved = Vec::new();
    let mut elements = document.elements();
    while let Some(element) = elements.read()? {
        if element.name != &**name {
            is_taken |= own_name == Some(element.name);
            write_element(out, &element);
        } else if !deeper.is_empty() {
            write_inside(out, &element, element.name, deeper, new_name)?;
        } else if let Some(own_name) = own_name {
            moved.push((own_name, element));
        }
    }
    for (own_name, element) in moved {
        if is_taken {
            return Err(name_is_taken(&element, own_name));
        }
        write_renamed(out, &element, own_name);
    }
    close(out, start)
}

/// Writes an element under another name.
pub(super) fn write_renamed(out: &mut Vec<u8>, element: &Element<'_>, name: &[u8]) {
    write_head(out, element.tag, name);
    out.extend_from_slice(element.raw);
}

/// Applies a rule to the content of an element.
pub(super) fn write_inside(
    out: &mut Vec<u8>,
    element: &Element<'_>,
    name: &[u8],
    path: &[Box<[u8]>],
    new_name: Option<&[u8]>,
) -> Result<()> {
    write_head(out, element.tag, name);
    match element.value {
        Value::Document(inner) => write_value_with_rules(out, inner, path, new_name),
        Value::Array(items) => {
            let start = open(out);
            let mut items = items.elements();
            while let Some(item) = items.read()? {
                match item.value {
                    Value::Document(_) => write_inside(out, &item, item.name, path, new_name)?,
                    _ => write_element(out, &item),
                }
            }
            close(out, start)
        }
        _ => {
            out.extend_from_slice(element.raw);
            Ok(())
        }
    }
}

#[cold]
pub(super) fn name_is_taken(element: &Element<'_>, name: &[u8]) -> BsonError {
    let text = |name| String::from_utf8_lossy(name).into_owned();
    let problem = Problem::NameTaken {
        field: text(element.name),
        name: text(name),
    };
    problem.at_offset(element.offset)
}
