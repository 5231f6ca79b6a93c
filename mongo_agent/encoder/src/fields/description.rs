//! Applies field rules to update descriptions, whose names are dotted paths.

use std::sync::Arc;

use super::Rule;
use super::document::{name_is_taken, write_inside, write_renamed};
use super::path::{Relation, relation, rename, rewrite as rewrite_path};
use crate::bson::{Document, Element, Value};
use crate::bson_writer::{close, open, write_element, write_head, write_string};
use crate::error::Result;

/// Omits `disambiguatedPaths`, because it repeats the paths name by name.
pub(super) fn rewrite(rules: &[Arc<Rule>], description: Document<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(description.bytes().len());
    let start = open(&mut out);
    let mut elements = description.elements();
    while let Some(element) = elements.read()? {
        match (element.name, element.value) {
            (b"updatedFields", Value::Document(fields)) => {
                write_head(&mut out, element.tag, element.name);
                out.extend_from_slice(&updated_fields(rules, fields)?);
            }
            (b"removedFields" | b"truncatedArrays", Value::Array(list)) => {
                write_head(&mut out, element.tag, element.name);
                write_list(&mut out, rules, list)?;
            }
            (b"disambiguatedPaths", _) => {}
            _ => write_element(&mut out, &element),
        }
    }
    close(&mut out, start)?;
    Ok(out)
}

fn updated_fields(rules: &[Arc<Rule>], fields: Document<'_>) -> Result<Vec<u8>> {
    let mut current = fields.bytes().to_vec();
    for rule in rules {
        let mut out = Vec::with_capacity(current.len());
        write_updated(&mut out, rule, Document::parse(&current)?)?;
        current = out;
    }
    Ok(current)
}

fn write_updated(out: &mut Vec<u8>, rule: &Rule, fields: Document<'_>) -> Result<()> {
    let start = open(out);
    let new_name = rule.new_name.as_deref();
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut moved: Vec<(Vec<u8>, Element<'_>)> = Vec::new();
    let mut elements = fields.elements();
    while let Some(element) = elements.read()? {
        match (relation(rule, element.name), new_name) {
            (Relation::Within(name), Some(new_name)) => {
                moved.push((rename(element.name, name, new_name), element));
                continue;
            }
            (Relation::Within(_), None) => continue,
            (Relation::Around(names), _) => {
                let path = rule.path.get(names..).unwrap_or_default();
                write_inside(out, &element, element.name, path, new_name)?;
            }
            (Relation::Apart, _) => write_element(out, &element),
        }
        kept.push(element.name);
    }
    for (name, element) in &moved {
        if kept.contains(&name.as_slice()) {
            return Err(name_is_taken(element, name));
        }
        write_renamed(out, element, name);
    }
    close(out, start)
}

/// Writes a list of paths, or of documents whose `field` is a path.
fn write_list(out: &mut Vec<u8>, rules: &[Arc<Rule>], list: Document<'_>) -> Result<()> {
    let start = open(out);
    let mut items = list.elements();
    while let Some(item) = items.read()? {
        match item.value {
            Value::String(path) => {
                if let Some(path) = rewrite_path(rules, path) {
                    write_string(out, item.name, &path);
                }
            }
            Value::Document(truncated) => write_truncated(out, rules, &item, truncated)?,
            _ => write_element(out, &item),
        }
    }
    close(out, start)
}

fn write_truncated(
    out: &mut Vec<u8>,
    rules: &[Arc<Rule>],
    item: &Element<'_>,
    truncated: Document<'_>,
) -> Result<()> {
    let before = out.len();
    write_head(out, item.tag, item.name);
    let start = open(out);
    let mut members = truncated.elements();
    while let Some(member) = members.read()? {
        let (b"field", Value::String(path)) = (member.name, member.value) else {
            write_element(out, &member);
            continue;
        };
        let Some(path) = rewrite_path(rules, path) else {
            out.truncate(before);
            return Ok(());
        };
        write_string(out, member.name, &path);
    }
    close(out, start)
}
