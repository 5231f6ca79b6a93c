//! Schemas parsed from the rows of `system_schema`.
use commitlog_core::schema::{SchemaError, parse_system_rows};
use serde_json::{Value, json};

use crate::schema_ddl::outline;

const ID: &str = "483d7350-e5c9-11f1-998c-b39dc08f01bb";

fn rows() -> Value {
    let column = |table: &str, name: &str, type_name: &str, kind: &str, position: i32| {
        json!({
            "keyspace_name": "ks", "table_name": table, "column_name": name, "type": type_name,
            "kind": kind, "position": position, "clustering_order": "none",
            "column_name_bytes": "0x00",
        })
    };
    let mut descending = column("t", "K 2", "text", "clustering", 1);
    descending["clustering_order"] = json!("desc");
    let mut ascending = column("t", "k1", "frozen<list<int>>", "clustering", 0);
    ascending["clustering_order"] = json!("asc");
    json!({
        "tables": [
            {"keyspace_name": "ks", "table_name": "t", "id": ID, "cdc": true,
             "flags": ["compound"], "comment": "", "gc_grace_seconds": 864_000},
            {"keyspace_name": "ks", "table_name": "c", "cdc": null, "flags": ["compound", "counter"],
             "id": "4d64e0c0-e5c9-11f1-998c-b39dc08f01bb"},
            {"keyspace_name": "ks", "table_name": "compact", "flags": null,
             "id": "5a1c395e-b41f-11e5-9f22-ba0be0483c18"},
            {"keyspace_name": "ks", "table_name": "dense", "flags": ["dense"],
             "id": "5a1c395e-b41f-11e5-9f22-ba0be0483c19"},
        ],
        "views": [
            {"keyspace_name": "ks", "view_name": "mv", "base_table_name": "t", "cdc": false,
             "id": "5a1c395e-b41f-11e5-9f22-ba0be0483c20", "include_all_columns": false},
        ],
        "columns": [
            descending,
            ascending,
            column("t", "p2", "uuid", "partition_key", 1),
            column("t", "p1", "int", "partition_key", 0),
            column("t", "u", "outer", "regular", -1),
            column("t", "fu", "frozen<outer>", "regular", -1),
            column("t", "back", "int", "regular", -1),
            column("t", "s", "set<text>", "static", -1),
            column("c", "k", "int", "partition_key", 0),
            column("c", "n", "counter", "regular", -1),
            column("compact", "k", "int", "partition_key", 0),
            column("compact", "column1", "text", "clustering", 0),
            column("compact", "value", "blob", "regular", -1),
            column("compact", "a", "int", "static", -1),
            column("dense", "k", "int", "partition_key", 0),
            column("dense", "c", "'org.apache.cassandra.db.marshal.BytesType'", "clustering", 0),
            column("dense", "value", "empty", "regular", -1),
            column("mv", "back", "int", "partition_key", 0),
            column("mv", "p1", "int", "clustering", 0),
            column("mv", "p2", "uuid", "clustering", 1),
            column("mv", "k1", "frozen<list<int>>", "clustering", 2),
            column("mv", "K 2", "text", "clustering", 3),
            column("made_meanwhile", "k", "int", "partition_key", 0),
        ],
        "dropped_columns": [
            {"keyspace_name": "ks", "table_name": "t", "column_name": "gone",
             "type": "map<int, text>", "kind": "static", "dropped_time": 1_795_278_812_117_i64},
            {"keyspace_name": "ks", "table_name": "t", "column_name": "old", "type": "int",
             "kind": null, "dropped_time": 5},
            {"keyspace_name": "ks", "table_name": "t", "column_name": "back", "type": "int",
             "kind": "regular", "dropped_time": 6},
        ],
        "types": [
            {"keyspace_name": "ks", "type_name": "outer", "field_names": ["a", "B"],
             "field_types": ["frozen<inner>", "text"]},
            {"keyspace_name": "ks", "type_name": "inner", "field_names": ["x"],
             "field_types": ["int"]},
        ],
    })
}

/// `schema_round_trip` and `schema_recorded` compare schemas from rows with schemas from CQL.
#[test]
fn rows_of_every_table_kind_are_parsed() {
    let schema = parse_system_rows(rows().to_string().as_bytes()).unwrap();
    let lines = [
        "ks.c counter: (k Int) | n Counter",
        "ks.compact: (k Int) column1 Text | value Blob, a Int static",
        "ks.dense dense: (k Int) c Blob | value Empty",
        "ks.mv view: (back Int) p1 Int, p2 Uuid, k1 List(Int), K 2 Text |",
        "ks.t cdc: (p1 Int, p2 Uuid) k1 List(Int), K 2 Text desc | back Int, fu outer, u outer*, \
         s Set(Text)* static, old Int dropped 5000, \
         gone Map(Int, Text)* static dropped 1795278812117000",
    ];
    assert_eq!(outline(&schema), lines.join("\n"));
}

#[test]
fn absent_lists_are_empty() {
    assert!(parse_system_rows(b"{}").unwrap().is_empty());
    assert!(
        parse_system_rows(br#"{"columns": [], "more": 1}"#)
            .unwrap()
            .is_empty()
    );
}

/// A place in the rows, its other value, and the error.
const MISFITS: &str = r#"
/tables/0/id | "483d" | ks.t: its id is not a UUID
/columns/3/position | 2 | ks.t: a partition key column is missing
/columns/1/kind | "regular" | ks.t: a clustering column is missing
/columns/8/kind | "static" | ks.c: it has no partition key
/columns/4/type | "list<outer" | ks.t: column u: type list<outer: expected `>`, found the end
/types/0/field_types/0 | "frozen<none>" | ks.outer: there is no type ks.none
/types/0/field_types | ["int"] | ks.outer: the type has 2 field names and 1 field types
/dropped_columns/0/dropped_time | 9223372036854775807 | ks.t: column gone: dropped_time is out of range
"#;

#[test]
fn inconsistent_rows_are_rejected() {
    for case in MISFITS.trim().lines() {
        let [pointer, value, message] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let mut rows = rows();
        *rows.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
        let error = parse_system_rows(rows.to_string().as_bytes()).unwrap_err();
        assert!(matches!(error, SchemaError::Table { .. }));
        assert_eq!(error.to_string(), format!("schema: {message}"), "{pointer}");
    }
}

#[test]
fn invalid_schema_json_is_rejected() {
    let texts = [
        "",
        "[]",
        "CREATE TABLE",
        r#"{"tables": [{"keyspace_name": "ks"}]}"#,
        r#"{"columns": [{"keyspace_name": "ks", "table_name": "t", "column_name": "c", "type": "int",
            "kind": "compact_value", "position": 0}]}"#,
    ];
    for text in texts {
        let error = parse_system_rows(text.as_bytes()).unwrap_err();
        assert!(
            matches!(error, SchemaError::Syntax { .. }),
            "{text}: {error}"
        );
    }
}
