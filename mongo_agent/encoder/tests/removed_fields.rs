//! Fields that an update removed are null in transformed messages.

use crate::written::{array, element, encode_all, event, int64, nested, string, value};
use mongo_encoder::encoder::Encoder;
use mongo_encoder::format::EventFormat;
use mongo_encoder::transform::{ExtractDocument, Transform};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Documents of documents; every leaf is 1.
#[derive(Debug, Clone)]
enum Tree {
    Leaf,
    Document(Vec<(String, Tree)>),
}

fn trees() -> impl Strategy<Value = Tree> {
    Just(Tree::Leaf).prop_recursive(4, 30, 4, |inner| {
        prop::collection::btree_map("[abc]", inner, 0..4)
            .prop_map(|fields| Tree::Document(fields.into_iter().collect()))
    })
}

fn fields() -> impl Strategy<Value = Vec<(String, Tree)>> {
    prop::collection::btree_map("[abc]", trees(), 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}

fn elements(fields: &[(String, Tree)]) -> Vec<Vec<u8>> {
    let written = fields.iter().map(|(name, tree)| match tree {
        Tree::Leaf => int64(name, 1),
        Tree::Document(inner) => nested(name, &elements(inner)),
    });
    written.collect()
}

fn json_of(fields: &[(String, Tree)]) -> Map<String, Value> {
    let shown = fields.iter().map(|(name, tree)| {
        let value = match tree {
            Tree::Leaf => json!(1),
            Tree::Document(inner) => Value::Object(json_of(inner)),
        };
        (name.clone(), value)
    });
    shown.collect()
}

/// The document with null at the path, if its parent exists and lacks the field.
fn with_null(document: &mut Map<String, Value>, path: &str) {
    match path.split_once('.') {
        None => {
            document.entry(path).or_insert(Value::Null);
        }
        Some((name, rest)) => {
            if let Some(Value::Object(inner)) = document.get_mut(name) {
                with_null(inner, rest);
            }
        }
    }
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    let path = prop::collection::vec("[abcd]", 1..5).prop_map(|names| names.join("."));
    prop::collection::btree_set(path, 0..5).prop_map(|paths| paths.into_iter().collect())
}

fn update(after: Option<&[Vec<u8>]>, updated: &[Vec<u8>], removed: &[String]) -> Vec<u8> {
    let removed: Vec<_> = (0..)
        .zip(removed)
        .map(|(index, path)| string(&format!("{index}"), path))
        .collect();
    let description = nested(
        "updateDescription",
        &[
            nested("updatedFields", updated),
            array("removedFields", &removed),
        ],
    );
    let mut members = vec![description];
    members.extend(after.map(|after| nested("fullDocument", after)));
    event("update", &members)
}

fn transformed(options: ExtractDocument, event: &[u8]) -> Value {
    let format = EventFormat {
        topic_prefix: "L".to_owned(),
        ..EventFormat::default()
    };
    let transforms = vec![Transform::ExtractDocument(options)];
    let encoder = Encoder::new(format).with_transforms(transforms);
    value(&encode_all(&encoder, [event]), 0).unwrap()
}

proptest! {
    #[test]
    fn removed_fields_are_null_where_their_document_exists(
        fields in fields(), removed in paths(),
    ) {
        let mut expected = json_of(&fields);
        expected.insert("_id".to_owned(), json!(7));
        for path in &removed {
            with_null(&mut expected, path);
        }
        let mut after = vec![int64("_id", 7)];
        after.extend(elements(&fields));
        let event = update(Some(&after), &[], &removed);
        let found = transformed(ExtractDocument::default(), &event);
        prop_assert_eq!(found, Value::Object(expected));
    }

    #[test]
    fn removed_fields_are_omitted_if_configured(fields in fields(), removed in paths()) {
        let options = ExtractDocument { omits_removed_fields: true, ..ExtractDocument::default() };
        let mut expected = json_of(&fields);
        expected.insert("_id".to_owned(), json!(7));
        let mut after = vec![int64("_id", 7)];
        after.extend(elements(&fields));
        let found = transformed(options, &update(Some(&after), &[], &removed));
        prop_assert_eq!(found, Value::Object(expected));
    }
}

#[test]
fn update_without_its_document_has_null_under_the_path() {
    let removed = ["a.b".to_owned(), "c".to_owned()];
    let event = update(None, &[string("x.y", "new")], &removed);
    let nulls = transformed(ExtractDocument::default(), &event);
    assert_eq!(
        nulls,
        json!({"x.y": "new", "a.b": null, "c": null, "_id": 7})
    );
    let flat = ExtractDocument {
        delimiter: Some("_".to_owned()),
        ..ExtractDocument::default()
    };
    assert_eq!(
        transformed(flat, &event),
        json!({"x_y": "new", "a_b": null, "c": null, "_id": 7})
    );
}

#[test]
fn removed_field_that_was_set_again_has_its_new_value() {
    // The server looks the document up later than the update.
    let after = [int64("_id", 7), string("a", "new")];
    let event = update(Some(&after), &[], &["a".to_owned()]);
    let found = transformed(ExtractDocument::default(), &event);
    assert_eq!(found, json!({"_id": 7, "a": "new"}));
}

#[test]
fn removed_field_of_an_array_element_is_left_out() {
    let items = array("list", &[nested("0", &[int64("x", 1)])]);
    let after = [int64("_id", 7), items];
    let event = update(Some(&after), &[], &["list.0.y".to_owned()]);
    let found = transformed(ExtractDocument::default(), &event);
    assert_eq!(found, json!({"_id": 7, "list": [{"x": 1}]}));
}

#[test]
fn damaged_list_of_removed_fields_is_rejected() {
    let format = EventFormat::default();
    let transforms = vec![Transform::ExtractDocument(ExtractDocument::default())];
    let encoder = Encoder::new(format).with_transforms(transforms);
    let removed = element(
        4,
        "removedFields",
        &crate::written::document(&[int64("0", 1)]),
    );
    let description = nested("updateDescription", &[removed]);
    let event = event(
        "update",
        &[description, nested("fullDocument", &[int64("_id", 7)])],
    );
    let batch = encode_all(&encoder, [event.as_slice()]);
    assert_eq!(batch.failures.len(), 1);
}
