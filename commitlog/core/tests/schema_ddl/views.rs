//! CREATE MATERIALIZED VIEW.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{ColumnKind, Table, TableId, TableKind};

use super::{ID, columns, live, schema};

#[test]
fn materialized_views() {
    use ColumnKind::{Clustering, PartitionKey, Regular};
    let base = "CREATE TABLE ks.t (p int, k text, v list<int>, w int, PRIMARY KEY (p, k))
        WITH ID = $OTHER AND CLUSTERING ORDER BY (k DESC) AND cdc = true;
        ALTER TABLE ks.t ADD gone int; ALTER TABLE ks.t DROP gone;";
    let view = |text: &str| {
        let schema = schema(&format!("{base} {text}"));
        Table::clone(schema.table(TableId::parse(ID).unwrap()).unwrap())
    };
    let chosen = view(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS ks.mv AS
            SELECT w, p, k, v FROM ks.t
            WHERE w IS NOT NULL AND p IS NOT NULL AND k IN ('primary key (', 'b') AND v = [1, 2]
            PRIMARY KEY (w, p, k)
         WITH ID = $ID AND CLUSTERING ORDER BY (p DESC, k ASC) AND cdc = false;",
    );
    let list = CqlType::List(Box::new(CqlType::Int));
    let expected = [
        live("w", PartitionKey, CqlType::Int),
        ("p", Clustering, CqlType::Int, false, true, None),
        live("k", Clustering, CqlType::Text),
        ("v", Regular, list.clone(), true, false, None),
    ];
    assert_eq!(columns(&chosen), expected);
    assert_eq!(
        (chosen.kind, chosen.cdc, chosen.counter),
        (TableKind::View, false, false)
    );
    assert_eq!(chosen.name, "mv");

    let everything = view(
        "CREATE MATERIALIZED VIEW ks.mv AS SELECT * FROM ks.t WHERE k IS NOT NULL AND p IS NOT NULL
         PRIMARY KEY ((k, p)) WITH ID = $ID;",
    );
    let expected = [
        live("k", PartitionKey, CqlType::Text),
        live("p", PartitionKey, CqlType::Int),
        ("v", Regular, list, true, false, None),
        live("w", Regular, CqlType::Int),
    ];
    assert_eq!(columns(&everything), expected);
}

#[test]
fn a_view_belongs_to_the_table_before_it() {
    let view = "CREATE MATERIALIZED VIEW ks.mv AS SELECT * FROM ks.t WHERE v IS NOT NULL
        PRIMARY KEY (v, k) WITH ID = $ID;";
    let old = "CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH ID = $OTHER;";
    let new = "CREATE TABLE ks.t (k int PRIMARY KEY, v blob)
        WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;";
    let key_type = |text: String| {
        let schema = schema(&text);
        let view = schema.table(TableId::parse(ID).unwrap()).unwrap();
        view.partition_key[0].cql_type.clone()
    };
    assert_eq!(key_type(format!("{old}{view}{new}")), CqlType::Text);
    assert_eq!(key_type(format!("{old}{new}{view}")), CqlType::Blob);
    assert_eq!(key_type(format!("{view}{new}")), CqlType::Blob);
}
