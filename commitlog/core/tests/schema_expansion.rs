//! If a table's types expand far beyond their declaration, large parts become opaque.
use std::fmt::Write;
use std::sync::Arc;

use commitlog_core::schema::{Schema, Table, parse_cql, parse_system_rows};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

/// Bytes of a stored schema, which contains every type written out.
const MAX_STORED: usize = 16 << 20;

/// How each type uses its predecessor.
const USES: [&str; 4] = [
    "frozen<{}>",
    "frozen<list<frozen<{}>>>",
    "frozen<map<int, frozen<{}>>>",
    "frozen<tuple<frozen<{}>, frozen<{}>>>",
];

/// The fields of user types `u1`, `u2`, …; each type uses its predecessor. The names have
/// `name_bytes` bytes.
fn types(levels: &[Vec<usize>], name_bytes: usize) -> Vec<(String, Vec<String>)> {
    let name = |level: usize| format!("u{level}{}", "x".repeat(name_bytes));
    let mut types = vec![(name(0), vec!["int".to_owned()])];
    for (level, uses) in levels.iter().enumerate() {
        let fields = uses
            .iter()
            .map(|place| USES[*place].replace("{}", &name(level)));
        types.push((name(level + 1), fields.collect()));
    }
    types
}

/// The number of types and fields of `levels` when written out.
fn written_out(levels: &[Vec<usize>]) -> f64 {
    levels.iter().fold(2.0, |below, uses| {
        let copies = uses.iter().map(|place| if *place == 3 { 2.0 } else { 1.0 });
        1.0 + copies.sum::<f64>() * below
    })
}

fn cql(types: &[(String, Vec<String>)]) -> String {
    let mut text = String::new();
    for (name, fields) in types {
        let fields: Vec<String> = (0..)
            .zip(fields)
            .map(|(index, f)| format!("f{index} {f}"))
            .collect();
        writeln!(text, "CREATE TYPE k.{name} ({});", fields.join(", ")).unwrap();
    }
    let last = &types.last().unwrap().0;
    for (table, column) in [("large", last.as_str()), ("small", "int")] {
        let id = if table == "large" { 1 } else { 2 };
        let id = format!("5a1c395e-b41f-11e5-9f22-{id:012}");
        let columns = format!("p int PRIMARY KEY, v {column}");
        writeln!(
            text,
            "CREATE TABLE k.{table} ({columns}) WITH ID = {id} AND cdc = true;"
        )
        .unwrap();
    }
    text
}

fn rows(types: &[(String, Vec<String>)]) -> String {
    let tables = [
        ("large", types.last().unwrap().0.as_str(), 1),
        ("small", "int", 2),
    ];
    let types = types.iter().map(|(name, fields)| {
        let names: Vec<String> = (0..fields.len()).map(|index| format!("f{index}")).collect();
        json!({"keyspace_name": "k", "type_name": name, "field_names": names, "field_types": fields})
    });
    let columns = tables.iter().flat_map(|(table, type_name, _)| {
        let columns = [
            ("p", "partition_key", "int", 0),
            ("v", "regular", *type_name, -1),
        ];
        columns.map(|(name, kind, type_name, position)| {
            json!({"keyspace_name": "k", "table_name": table, "column_name": name, "kind": kind,
                "position": position, "type": type_name})
        })
    });
    let ids = tables.iter().map(|(table, _, id)| {
        json!({"keyspace_name": "k", "table_name": table, "cdc": true,
            "id": format!("5a1c395e-b41f-11e5-9f22-{id:012}")})
    });
    let (types, columns) = (types.collect::<Vec<_>>(), columns.collect::<Vec<_>>());
    json!({"types": types, "tables": ids.collect::<Vec<_>>(), "columns": columns}).to_string()
}

fn names(schema: &Schema) -> Vec<&str> {
    let tables = schema.tables();
    tables
        .into_iter()
        .map(|table| table.name.as_str())
        .collect()
}

fn check(schema: &Schema, size: f64) {
    assert_eq!(names(schema), ["large", "small"]);
    let opaque = |table: &Arc<Table>| table.opaque_columns().count();
    let opaque: Vec<usize> = schema.tables().into_iter().map(opaque).collect();
    // A type or field counts as 64 bytes plus its name.
    if size > 250_000.0 {
        assert_eq!(opaque, [1, 0]);
    } else if size < 20_000.0 {
        assert_eq!(opaque, [0, 0]);
    }
    assert!(schema.to_stored().len() < MAX_STORED);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn types_that_double_are_opaque(
        levels in vec(vec(0_usize..4, 1..5), 1..31),
    ) {
        let (types, size) = (types(&levels, 0), written_out(&levels));
        let text = parse_cql(&cql(&types)).unwrap();
        check(&text, size);
        let schema = parse_system_rows(rows(&types).as_bytes()).unwrap();
        check(&schema, size);
        let later = schema.seen_at(1_000_000_000);
        check(&later.merged(&text.seen_at(2_000_000_000)), size);
        check(&text.merged(&later), size);
        let stored = schema.to_stored();
        let again = Schema::from_stored(stored.as_bytes()).unwrap();
        check(&again, size);
    }

    #[test]
    fn deep_types_are_opaque(depth in 1_usize..300) {
        let nested = format!("{}int{}", "frozen<list<".repeat(depth), ">>".repeat(depth));
        let types = [("u".to_owned(), vec![nested])];
        let schema = parse_system_rows(rows(&types).as_bytes()).unwrap();
        prop_assert_eq!(names(&schema), ["large", "small"]);
        // Both brackets of a level count.
        let opaque = schema.tables()[0].opaque_columns().count();
        prop_assert_eq!(opaque, usize::from(depth > 32));
    }
}

#[test]
fn long_names_count_towards_expansion() {
    let types = types(&vec![vec![0, 0]; 12], 30_000);
    check(&parse_cql(&cql(&types)).unwrap(), f64::INFINITY);
}

/// A wide table without repetition is not opaque.
#[test]
fn wide_table_is_read() {
    let columns: Vec<String> = (0..10_000)
        .map(|index| format!("column_{index} text"))
        .collect();
    let text = format!(
        "CREATE TABLE k.wide (p int PRIMARY KEY, {}) WITH ID = 5a1c395e-b41f-11e5-9f22-000000000001;",
        columns.join(", ")
    );
    assert_eq!(names(&parse_cql(&text).unwrap()), ["wide"]);
}

/// Each symbol becomes a token, which takes 40 bytes.
#[test]
fn statement_with_millions_of_symbols_is_rejected() {
    let symbols = format!("CREATE TABLE k.t {}", "(".repeat(3 << 20));
    let error = parse_cql(&symbols).unwrap_err().to_string();
    assert!(
        error.contains("more than 2097152 words and symbols"),
        "{error}"
    );
    assert!(parse_cql(&";".repeat(3 << 20)).unwrap().tables().is_empty());
}
