//! Dotted paths of update descriptions: `address.street`, `items.0.price`.

use std::ops::Range;

use super::Rule;

/// The relation between the path of an update and the path of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Neither contains the other.
    Apart,
    /// The update is the rule's field or inside it; the range is the field's name in the path.
    Within(Range<usize>),
    /// The field is inside the update, whose path covers this number of the rule's names.
    Around(usize),
}

/// Compares a rule with a path. Rules omit array indexes and do not apply inside nested arrays. An
/// outermost name is never an index.
pub(super) fn relation(rule: &Rule, path: &[u8]) -> Relation {
    let mut found = 0;
    let mut start = 0;
    let mut may_be_position = false;
    for name in path.split(|byte| *byte == b'.') {
        let end = start + name.len();
        if rule.path.get(found).is_some_and(|part| **part == *name) {
            found += 1;
            if found == rule.path.len() {
                return Relation::Within(start..end);
            }
            may_be_position = true;
        } else if may_be_position && !name.is_empty() && name.iter().all(u8::is_ascii_digit) {
            may_be_position = false;
        } else {
            return Relation::Apart;
        }
        start = end + 1;
    }
    Relation::Around(found)
}

/// Applies renames to a path. Returns `None` if the path is inside an excluded field.
pub(super) fn rewrite(rules: &[std::sync::Arc<Rule>], path: &[u8]) -> Option<Vec<u8>> {
    let mut path = path.to_vec();
    for rule in rules {
        if let Relation::Within(name) = relation(rule, &path) {
            path = rename(&path, name, rule.new_name.as_deref()?);
        }
    }
    Some(path)
}

pub(super) fn rename(path: &[u8], name: Range<usize>, new_name: &[u8]) -> Vec<u8> {
    let before = path.get(..name.start).unwrap_or_default();
    let tail = path.get(name.end..).unwrap_or_default();
    [before, new_name, tail].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_of_rules_and_paths_are_found() {
        for (rule, path, expected) in [
            ("a", "a", Relation::Within(0..1)),
            ("a", "a.b", Relation::Within(0..1)),
            ("a", "a.0.0.b", Relation::Within(0..1)),
            ("a", "ab", Relation::Apart),
            ("a.b", "a", Relation::Around(1)),
            ("a.b", "a.0", Relation::Around(1)),
            ("a.b", "a.b", Relation::Within(2..3)),
            ("a.b", "a.0.b", Relation::Within(4..5)),
            ("a.b", "a.0.b.1.c", Relation::Within(4..5)),
            ("a.b", "a.0.0.b", Relation::Apart),
            ("a.b", "a.c", Relation::Apart),
            ("a.b.c", "a.0.b.1", Relation::Around(2)),
            ("a.b.c", "a.0.b.1.c", Relation::Within(8..9)),
            ("a.0.b", "a.0.b", Relation::Within(4..5)),
            ("a.0.b", "a.1.b", Relation::Apart),
            ("b", "0.b", Relation::Apart),
            ("a", "", Relation::Apart),
        ] {
            let parsed = Rule::parse(&format!("d.c.{rule}"), None);
            let found = parsed.map(|rule| relation(&rule, path.as_bytes()));
            assert_eq!(found, Some(expected), "{rule} {path}");
        }
    }
}
