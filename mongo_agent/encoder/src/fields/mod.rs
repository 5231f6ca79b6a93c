//! Excludes or renames fields in values.
//!
//! Rules use the syntax of Debezium's `field.exclude.list` and `field.renames`. They act like its
//! `FieldSelector`, but also where it misses a matching field. All exclusions apply first, then the
//! renames in order.

mod description;
mod document;
mod path;

use std::sync::Arc;

use thiserror::Error;

use crate::bson::{Document, Value};
use crate::bson_writer::{close, open, write_element, write_head};
use crate::error::Result;

/// Why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FieldRuleError {
    #[error("`{rule}` is not of the form `database.collection.field`")]
    Path { rule: String },
    #[error("`{rule}` is not of the form `database.collection.field:name`")]
    Renaming { rule: String },
    #[error("`{rule}` renames a field to its own name")]
    Same { rule: String },
}

/// A rule for one field of the collections that a pattern matches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// `database.collection`, where `*` matches any text.
    namespace: Box<str>,
    /// At least one name, starting at the outermost document.
    path: Vec<Box<[u8]>>,
    /// The new name; `None` excludes the field.
    new_name: Option<Box<[u8]>>,
}

/// The rules of one collection.
pub(crate) type CollectionRules = Vec<Arc<Rule>>;

/// All rules, in the order in which they are applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldRules {
    rules: Vec<Arc<Rule>>,
}

impl FieldRules {
    /// Parses rules: `excluded` as `database.collection.field`, `renamed` with `:name` after it.
    pub fn parse<'r>(
        excluded: impl IntoIterator<Item = &'r str>,
        renamed: impl IntoIterator<Item = &'r str>,
    ) -> Result<Self, FieldRuleError> {
        let mut rules = Vec::new();
        for text in excluded {
            let wrong = || FieldRuleError::Path { rule: text.into() };
            rules.push(Rule::parse(text, None).ok_or_else(wrong)?.into());
        }
        for text in renamed {
            let wrong = || FieldRuleError::Renaming { rule: text.into() };
            let (path, name) = text.split_once(':').ok_or_else(wrong)?;
            let name = name.trim();
            if name.is_empty() || name.contains(['.', ':', '\0']) {
                return Err(wrong());
            }
            let rule = Rule::parse(path, Some(name)).ok_or_else(wrong)?;
            if rule.path.last() == rule.new_name.as_ref() {
                return Err(FieldRuleError::Same { rule: text.into() });
            }
            rules.push(rule.into());
        }
        Ok(Self { rules })
    }

    pub(crate) fn collection_rules(&self, database: &[u8], collection: &[u8]) -> CollectionRules {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let namespace = [database, b".", collection].concat();
        let applies = |rule: &&Arc<Rule>| matches(rule.namespace.as_bytes(), &namespace);
        self.rules.iter().filter(applies).cloned().collect()
    }
}

impl Rule {
    fn parse(text: &str, new_name: Option<&str>) -> Option<Self> {
        let mut names = text.split('.').map(str::trim);
        let (database, collection) = (names.next()?, names.next()?);
        let path: Vec<Box<[u8]>> = names.map(|name| name.as_bytes().into()).collect();
        let is_named = |name: &[u8]| !name.is_empty() && !name.contains(&0);
        let is_whole = !path.is_empty()
            && is_named(database.as_bytes())
            && is_named(collection.as_bytes())
            && path.iter().all(|name| is_named(name));
        is_whole.then(|| Self {
            namespace: format!("{database}.{collection}").into(),
            path,
            new_name: new_name.map(|name| name.as_bytes().into()),
        })
    }
}

/// Whether a pattern matches, where `*` matches any text. As in Debezium, ASCII case is ignored.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut index, mut place) = (0, 0);
    // The latest star, and the end of the text that it matches.
    let mut star = None;
    while place < text.len() {
        match pattern.get(index) {
            Some(b'*') => {
                star = Some((index, place));
                index += 1;
            }
            Some(byte)
                if text
                    .get(place)
                    .is_some_and(|found| found.eq_ignore_ascii_case(byte)) =>
            {
                index += 1;
                place += 1;
            }
            _ => match &mut star {
                Some((star_at, until)) => {
                    *until += 1;
                    index = *star_at + 1;
                    place = *until;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(index..)
        .is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

/// Applies rules to a document.
pub(crate) fn rewrite_document(rules: &[Arc<Rule>], document: Document<'_>) -> Result<Vec<u8>> {
    let rules = rules.iter().map(AsRef::as_ref);
    document::rewrite(rules, document)
}

/// Applies rules to the images, update description and document key of a raw event. The key's `_id`
/// always stays.
pub(crate) fn rewrite_event(rules: &[Arc<Rule>], event: Document<'_>) -> Result<Vec<u8>> {
    let is_of_others = |rule: &&Rule| rule.path.first().is_none_or(|name| &**name != b"_id");
    let all = || rules.iter().map(AsRef::as_ref);
    let mut out = Vec::with_capacity(event.bytes().len());
    let start = open(&mut out);
    let mut elements = event.elements();
    while let Some(element) = elements.read()? {
        let rewritten = match (element.name, element.value) {
            (b"fullDocument" | b"fullDocumentBeforeChange", Value::Document(image)) => {
                document::rewrite(all(), image)?
            }
            (b"updateDescription", Value::Document(update)) => description::rewrite(rules, update)?,
            (b"documentKey", Value::Document(key)) => {
                document::rewrite(all().filter(is_of_others), key)?
            }
            _ => {
                write_element(&mut out, &element);
                continue;
            }
        };
        write_head(&mut out, element.tag, element.name);
        out.extend_from_slice(&rewritten);
    }
    close(&mut out, start)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_text() {
        for (pattern, text, expected) in [
            ("a.b", "a.b", true),
            ("A.b", "a.B", true),
            ("a.b", "a.bc", false),
            ("*.c1", "shop.c1", true),
            ("*.c1", "shop.x.c1", true),
            ("*.c1", "shop.c11", false),
            ("s*p.*", "shop.", true),
            ("s*p.*", "shoe.p", false),
            ("*a*b*", "xxaxxb", true),
            ("*a*b*", "xxbxxa", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            let found = matches(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{pattern} {text}");
        }
    }

    #[test]
    fn invalid_rules_are_rejected() {
        let cause = |excluded: &[&str], renamed: &[&str]| {
            let (excluded, renamed) = (excluded.iter().copied(), renamed.iter().copied());
            let parsed = FieldRules::parse(excluded, renamed);
            parsed.err().map(|error| error.to_string())
        };
        assert_eq!(cause(&[" a.b.c ", "*.*.c.d"], &["a.b.c : d"]), None);
        for wrong in ["", "a.b", "a..c", "a.b.c.", ".b.c"] {
            let said = format!("`{wrong}` is not of the form `database.collection.field`");
            assert_eq!(cause(&[wrong], &[]), Some(said));
        }
        for wrong in ["a.b.c", "a.b:c", "a.b.c:", "a.b.c:d.e", "a.b.c:d:e"] {
            let said = format!("`{wrong}` is not of the form `database.collection.field:name`");
            assert_eq!(cause(&[], &[wrong]), Some(said));
        }
        let said = "`a.b.c.d:d` renames a field to its own name".to_owned();
        assert_eq!(cause(&[], &["a.b.c.d:d"]), Some(said));
    }
}
