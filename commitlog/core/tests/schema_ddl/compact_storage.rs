//! COMPACT STORAGE tables, whose columns DESCRIBE hides in part.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::ColumnKind;

use super::{columns, live, schema, table};

/// The layouts are those of Cassandra 5.0.9 for the same statements.
#[test]
fn compact_tables_have_hidden_columns() {
    use ColumnKind::{Clustering, PartitionKey, Regular, Static};
    let compact = |columns: &str| {
        table(&format!(
            "CREATE TABLE ks.t ({columns}) WITH COMPACT STORAGE AND ID = $ID;"
        ))
    };
    assert_eq!(
        columns(&compact("k int PRIMARY KEY, a text, b int")),
        [
            live("k", PartitionKey, CqlType::Int),
            live("column1", Clustering, CqlType::Text),
            live("value", Regular, CqlType::Blob),
            live("a", Static, CqlType::Text),
            live("b", Static, CqlType::Int),
        ]
    );
    assert_eq!(
        columns(&compact("k int PRIMARY KEY, column1 text, value int")),
        [
            live("k", PartitionKey, CqlType::Int),
            live("column2", Clustering, CqlType::Text),
            live("value1", Regular, CqlType::Blob),
            live("column1", Static, CqlType::Text),
            live("value", Static, CqlType::Int),
        ]
    );
    let counter = compact("k int PRIMARY KEY, c counter");
    assert!(counter.counter);
    assert_eq!(
        columns(&counter)[1..],
        [
            live("column1", Clustering, CqlType::Text),
            live("value", Regular, CqlType::Counter),
            live("c", Static, CqlType::Counter),
        ]
    );
    assert_eq!(
        columns(&compact("k int, value text, PRIMARY KEY (k, value)"))[1..],
        [
            live("value", Clustering, CqlType::Text),
            live("value1", Regular, CqlType::Empty),
        ]
    );
    assert_eq!(
        columns(&compact(
            "k int, c text, d int, v int, PRIMARY KEY (k, c, d)"
        ))[1..],
        [
            live("c", Clustering, CqlType::Text),
            live("d", Clustering, CqlType::Int),
            live("v", Regular, CqlType::Int),
        ]
    );
}

#[test]
fn compact_tables_in_the_comment_of_describe() {
    use ColumnKind::{Clustering, PartitionKey, Regular, Static};
    let schema = schema(
        "/*
Warning: Table ks.t omitted because it has constructs not compatible with CQL (was created via legacy API).
Approximate structure, for reference:
(this should not be used to reproduce this schema)

CREATE TABLE ks.t (
    k int,
    a text,
    b int static,
    PRIMARY KEY (k)
) WITH COMPACT STORAGE
    AND ID = $ID
    AND CLUSTERING ORDER BY (\"Col\" ASC)
    AND cdc = true
    AND comment = 'not the end: */';
ALTER TABLE ks.t DROP b USING TIMESTAMP 1234567;
ALTER TABLE ks.t ADD b int static;
*/

/*
Warning: Table system_views.x is a virtual table and cannot be recreated with CQL.
Structure, for reference:
VIRTUAL TABLE system_views.x (k int PRIMARY KEY);
*/
CREATE TABLE ks.u (k int PRIMARY KEY) WITH ID = $OTHER;",
    );
    let tables = schema.tables();
    assert_eq!(tables.len(), 2);
    assert!(tables[0].cdc);
    assert_eq!(
        columns(tables[0]),
        [
            live("k", PartitionKey, CqlType::Int),
            live("Col", Clustering, CqlType::Text),
            live("value", Regular, CqlType::Blob),
            live("a", Static, CqlType::Text),
            live("b", Static, CqlType::Int),
        ]
    );
    assert_eq!(tables[1].name, "u");
}

#[test]
fn the_schema_of_a_3_11_snapshot() {
    let schema = schema(
        "CREATE TYPE ks.addr(street text, no int);
CREATE TABLE IF NOT EXISTS ks.compact (
\ta int,
\tb int,
\tv text,
\tPRIMARY KEY ((a, b), column1))
\tWITH ID = $ID
\tAND COMPACT STORAGE
\tAND bloom_filter_fp_chance = 0.01
\tAND extensions = {  };
CREATE TABLE IF NOT EXISTS ks.t (
\tk int PRIMARY KEY,
\tu frozen<addr>)
\tWITH ID = $OTHER
\tAND cdc = true;
CREATE INDEX i ON ks.t (u);",
    );
    let tables = schema.tables();
    let clustering: Vec<_> = tables[0].clustering.iter().map(|c| &c.name).collect();
    assert_eq!(clustering, ["column1"]);
    assert_eq!(tables[0].columns.len(), 2);
    assert!(matches!(tables[1].columns[0].cql_type, CqlType::Udt(_)));
}

#[test]
fn compact_tables_with_clustering_columns_are_dense() {
    let is_dense = |columns: &str, options: &str| {
        table(&format!(
            "CREATE TABLE ks.t ({columns}) WITH {options} ID = $ID;"
        ))
        .dense
    };
    let compact = "COMPACT STORAGE AND";
    assert!(is_dense("k int, c int, PRIMARY KEY (k, c)", compact));
    assert!(is_dense("k int, c int, v int, PRIMARY KEY (k, c)", compact));
    assert!(!is_dense("k int PRIMARY KEY, v int", compact));
    assert!(!is_dense("k int, c int, v int, PRIMARY KEY (k, c)", ""));
}
