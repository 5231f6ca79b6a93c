//! One schema as two nodes told it in two ways: `DESCRIBE … WITH INTERNALS` and the rows of
//! `system_schema`. Made by `schema_recorded/statements.cql`: COMPACT STORAGE tables of every
//! layout, dropped columns, views, masks, custom types, names in quotes.
use commitlog_core::schema::{Schema, TableKind, parse_cql, parse_system_rows};

fn same(cql: &str, rows: &str) -> Schema {
    let from_cql = parse_cql(cql).unwrap();
    let from_rows = parse_system_rows(rows.as_bytes()).unwrap();
    assert_eq!(from_cql.tables(), from_rows.tables());
    from_cql
}

/// Every column as `name kind type`, with what else there is to say of it.
fn outline(schema: &Schema, table: &str) -> Vec<String> {
    let tables = schema.tables();
    let table = tables.iter().find(|found| found.name == table).unwrap();
    (table.partition_key.iter())
        .chain(&table.clustering)
        .chain(&table.columns)
        .map(|column| {
            let kind = format!("{:?}", column.kind).to_lowercase();
            let multi_cell = if column.multi_cell { " multi-cell" } else { "" };
            let reversed = if column.reversed { " reversed" } else { "" };
            let dropped = match column.dropped_at_us {
                Some(_) => " dropped",
                None => "",
            };
            format!(
                "{} {kind} {:?}{multi_cell}{reversed}{dropped}",
                column.name, column.cql_type
            )
        })
        .collect()
}

/// The columns of tables, in a text of `table: column, column …` with any line ends.
fn assert_outlines(schema: &Schema, expected: &str) {
    let words = expected.split_whitespace().collect::<Vec<_>>().join(" ");
    let tables = words.split(' ').filter_map(|word| word.strip_suffix(':'));
    let found: Vec<_> = tables
        .map(|table| format!("{table}: {}", outline(schema, table).join(", ")))
        .collect();
    assert_eq!(found.join(" "), words);
}

#[test]
fn cassandra_5_0_tells_one_schema_in_both_ways() {
    let schema = same(
        include_str!("schema_recorded/5.0.9.cql"),
        include_str!("schema_recorded/5.0.9.json"),
    );
    assert_eq!(schema.tables().len(), 14);
    let views = schema.tables();
    let views = views.iter().filter(|table| table.kind == TableKind::View);
    assert_eq!(views.count(), 2);
    assert_outlines(
        &schema,
        "
        scn: k partitionkey Int, k2 partitionkey Text, column2 clustering Text,
            value1 regular Blob, column1 static Text, value static Int
        sc: k partitionkey Int, column1 clustering Text, value regular Blob, a static Text,
            b static Int dropped
        d0: k partitionkey Int, c clustering Text, value regular Empty
        was: k partitionkey Int, column1 clustering Text, value regular Blob, a static Text
        ",
    );
    let table = outline(&schema, "Tbl");
    let dropped: Vec<_> = table
        .iter()
        .filter(|column| column.ends_with("dropped"))
        .collect();
    assert_eq!(
        dropped,
        [
            "gone regular Text dropped",
            "gonef regular Tuple([Tuple([Int, List(Text)]), Int]) dropped",
            "gonel regular List(Int) multi-cell dropped",
            "gones static Int dropped",
        ]
    );
    assert!(table.contains(&"back regular Int".to_owned()));
    assert!(table.contains(&"c clustering TimeUuid reversed".to_owned()));
}

#[test]
fn cassandra_4_0_tells_one_schema_in_both_ways() {
    let schema = same(
        include_str!("schema_recorded/4.0.19.cql"),
        include_str!("schema_recorded/4.0.19.json"),
    );
    assert_eq!(schema.tables().len(), 13);
    assert_outlines(
        &schema,
        "scc: k partitionkey Int, column1 clustering Text, value regular Counter, c static Counter",
    );
    let tables = schema.tables();
    let counters = tables.iter().filter(|table| table.counter);
    let counters: Vec<_> = counters.map(|table| table.name.as_str()).collect();
    assert_eq!(counters, ["cnt", "scc"]);
}
