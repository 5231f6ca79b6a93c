//! Random schemas, printed as CQL and as rows of `system_schema`, are read back equal; texts that
//! are no schema are rejected without a panic.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod print_cql;
mod print_rows;
mod random_schema;

use commitlog_core::schema::{
    Schema, UserTypes, marshal_name, parse_cql, parse_system_rows, parse_type,
};
use proptest::prelude::*;
use random_schema::{any_column_type, any_schema};

proptest! {
    #[test]
    fn printed_cql_is_read_back(random in any_schema(), layout in any::<u64>()) {
        let text = print_cql::schema(&random, layout);
        let read = parse_cql(&text);
        prop_assert_eq!(read.unwrap(), random.schema(), "{}", text);
    }

    #[test]
    fn printed_rows_are_read_back(random in any_schema()) {
        let rows = print_rows::schema(&random).to_string();
        let read = parse_system_rows(rows.as_bytes());
        prop_assert_eq!(read.unwrap(), random.schema(), "{}", rows);
    }

    #[test]
    fn stored_schemas_are_read_back(random in any_schema(), layout in any::<u64>()) {
        let schema = parse_cql(&print_cql::schema(&random, layout)).unwrap().seen_at(7);
        let stored = schema.to_stored();
        let read = Schema::from_stored(stored.as_bytes()).unwrap();
        prop_assert!(read.is_same(&schema), "{}", stored);
        prop_assert_eq!(read.to_stored(), stored);
    }

    #[test]
    fn merging_with_itself_changes_nothing(random in any_schema(), layout in any::<u64>()) {
        let schema = parse_cql(&print_cql::schema(&random, layout)).unwrap();
        prop_assert!(schema.merged(&schema).is_same(&schema));
        prop_assert!(schema.merged(&schema.seen_at(9)).is_same(&schema));
        prop_assert!(schema.seen_at(9).merged(&schema).is_same(&schema));
    }

    #[test]
    fn class_names_are_read_back((cql_type, multi_cell) in any_column_type(), reversed: bool) {
        let class = marshal_name(&cql_type, multi_cell, reversed);
        let read = parse_type(&class, "", &UserTypes::default());
        prop_assert_eq!(read.unwrap(), (cql_type, multi_cell), "{}", class);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        let _ = parse_cql(&text);
        let _ = parse_type(&text, "ks", &UserTypes::default());
        let _ = parse_system_rows(&bytes);
    }

    #[test]
    fn almost_cql_never_panics(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..60),
    ) {
        let text = words.join(" ");
        let _ = parse_cql(&text);
        let _ = parse_cql(&format!("CREATE TABLE ks.t (k int PRIMARY KEY, {text}"));
        let _ = parse_cql(&format!("CREATE TABLE ks.t (k int PRIMARY KEY) WITH {text}"));
        let _ = parse_type(&text, "ks", &UserTypes::default());
        let _ = parse_type(&format!("org.apache.cassandra.{text}"), "ks", &UserTypes::default());
        let _ = parse_type(&format!("'{}'", words.concat()), "ks", &UserTypes::default());
    }

    #[test]
    fn damaged_schemas_never_panic(
        random in any_schema(),
        layout in any::<u64>(),
        from in any::<prop::sample::Index>(),
        length in 0_usize..40,
        instead in prop::sample::select(WORDS),
    ) {
        let damaged = |text: String| {
            let chars: Vec<char> = text.chars().collect();
            let from = from.index(chars.len() + 1);
            let to = (from + length).min(chars.len());
            let mut damaged: String = chars[..from].iter().collect();
            damaged.push_str(instead);
            damaged.extend(&chars[to..]);
            damaged
        };
        let _ = parse_cql(&damaged(print_cql::schema(&random, layout)));
        let _ = parse_system_rows(damaged(print_rows::schema(&random).to_string()).as_bytes());
    }
}

/// Pieces that the readers look for.
const WORDS: &[&str] = &[
    "create",
    "TABLE",
    "type",
    "MATERIALIZED",
    "view",
    "alter",
    "add",
    "drop",
    "if",
    "not",
    "exists",
    "as",
    "select",
    "from",
    "where",
    "primary",
    "key",
    "with",
    "and",
    "id",
    "cdc",
    "compact",
    "storage",
    "clustering",
    "order",
    "by",
    "desc",
    "static",
    "using",
    "timestamp",
    "use",
    "frozen",
    "list",
    "map",
    "tuple",
    "vector",
    "int",
    "x",
    "\"q\"",
    "'s'",
    "$$",
    "/*",
    "*/",
    "--",
    "\n",
    "(",
    ")",
    "<",
    ">",
    ",",
    ".",
    ";",
    "=",
    "483d7350-e5c9-11f1-998c-b39dc08f01bb",
];
