//! Columns that ALTER TABLE drops and adds, and tables that share a name.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{ColumnKind, TableId};

use super::{ID, OTHER_ID, columns, live, schema, table};

#[test]
fn dropped_columns() {
    use ColumnKind::{PartitionKey, Regular, Static};
    let table = table(
        "CREATE TABLE ks.t (
            k int PRIMARY KEY,
            v int,
            gone map<int, int>,
            back text,
            \"Moved\" int static,
            many1 int,
            many2 int
        ) WITH ID = $ID;
        ALTER TABLE ks.t DROP gone USING TIMESTAMP 1795278812117000;
        ALTER TABLE ks.t DROP back USING TIMESTAMP 1795278811501000;
        ALTER TABLE ks.t ADD back text;
        ALTER TABLE ks.t DROP \"Moved\" USING TIMESTAMP -5;
        ALTER TABLE ks.t ADD \"Moved\" int;
        ALTER TABLE ks.t ADD (added1 int, added2 int static);
        ALTER TABLE ks.t ADD added3 text MASKED WITH DEFAULT, added4 list<int>;
        ALTER TABLE ks.t DROP (many1, many2) USING TIMESTAMP 7;
        ALTER TABLE ks.t DROP added3;",
    );
    let map = CqlType::Map(Box::new(CqlType::Int), Box::new(CqlType::Int));
    let expected = [
        live("k", PartitionKey, CqlType::Int),
        live("Moved", Regular, CqlType::Int),
        live("added1", Regular, CqlType::Int),
        (
            "added4",
            Regular,
            CqlType::List(Box::new(CqlType::Int)),
            true,
            false,
            None,
        ),
        live("back", Regular, CqlType::Text),
        live("v", Regular, CqlType::Int),
        live("added2", Static, CqlType::Int),
        (
            "added3",
            Regular,
            CqlType::Text,
            false,
            false,
            Some(i64::MIN),
        ),
        (
            "gone",
            Regular,
            map,
            true,
            false,
            Some(1_795_278_812_117_000),
        ),
        ("many1", Regular, CqlType::Int, false, false, Some(7)),
        ("many2", Regular, CqlType::Int, false, false, Some(7)),
        ("Moved", Static, CqlType::Int, false, false, Some(-5)),
    ];
    assert_eq!(columns(&table), expected);
}

#[test]
fn every_version_of_a_column_stays() {
    let table = table(
        "CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH ID = $ID;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 10;
         ALTER TABLE ks.t ADD v blob;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 20;
         ALTER TABLE ks.t ADD v text;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 30;
         ALTER TABLE ks.t ADD v int;",
    );
    let dropped = |cql_type, time| ("v", ColumnKind::Regular, cql_type, false, false, Some(time));
    let expected = [
        live("v", ColumnKind::Regular, CqlType::Int),
        dropped(CqlType::Text, 30),
        dropped(CqlType::Blob, 20),
    ];
    assert_eq!(columns(&table)[1..], expected);
    let drops: Vec<_> = (table.columns.iter())
        .map(|column| column.history.drops_us.clone())
        .collect();
    assert_eq!(drops, [vec![], vec![10, 30], vec![20]]);
    assert!(table.has_versions());
}

#[test]
fn one_name_twice_with_two_ids() {
    let schema = schema(
        "CREATE TABLE ks.t (k int PRIMARY KEY, a text) WITH ID = $ID;
         CREATE TABLE ks.t (k int PRIMARY KEY, b int) WITH ID = $OTHER;
         ALTER TABLE ks.t DROP b USING TIMESTAMP 1;",
    );
    let dropped = |id: &str| {
        let table = schema.table(TableId::parse(id).unwrap()).unwrap();
        let column = &table.columns[0];
        (column.name.clone(), column.dropped_at_us)
    };
    assert_eq!(dropped(ID), ("a".to_owned(), None));
    assert_eq!(dropped(OTHER_ID), ("b".to_owned(), Some(1)));
}
