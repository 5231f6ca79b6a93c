//! One schema in two formats from two nodes: `DESCRIBE … WITH INTERNALS` and the rows of
//! `system_schema`. `schema_recorded/statements.cql` created it: COMPACT STORAGE tables of every
//! layout, dropped columns, views, masks, custom types, quoted names.
use commitlog_core::schema::{parse_cql, parse_system_rows};

use crate::schema_ddl::outline;

/// Tables of both releases.
const TABLES: [&str; 9] = [
    "ks.b: (k Int) c Int | later Text, v Int, w List(Int)*",
    "ks.cnt counter: (k Int) c Int | n Counter, s Counter static",
    "ks.d0 dense: (k Int) c Text | value Empty",
    "ks.d1 dense: (k Int) c Text desc | v Int",
    "ks.mv view: (v Int) c Int desc, k Int | w List(Int)*",
    "ks.mvall view: (c Int, k Int) | later Text, v Int, w List(Int)*",
    "ks.scc counter: (k Int) column1 Text | value Counter, c Counter static",
    "ks.scn: (k Int, k2 Text) column2 Text | value1 Blob, column1 Text static, value Int static",
    "ks.was: (k Int) column1 Text | value Blob, a Text static",
];

fn check(cql: &str, rows: &str, tables: usize, dropped: [&str; 2]) {
    let from_cql = parse_cql(cql).unwrap();
    let from_rows = parse_system_rows(rows.as_bytes()).unwrap();
    assert_eq!(from_cql.tables(), from_rows.tables());
    let found = outline(&from_cql);
    assert_eq!(found.lines().count(), tables, "{found}");
    for line in TABLES.into_iter().chain(dropped) {
        assert!(found.contains(line), "{line}\n{found}");
    }
}

#[test]
fn cassandra_5_0_rows_and_cql_agree() {
    check(
        include_str!("schema_recorded/5.0.9.cql"),
        include_str!("schema_recorded/5.0.9.json"),
        14,
        [
            "ks.sc: (k Int) column1 Text | value Blob, a Text static, \
             b Int static dropped 1795287172045000",
            "gone Text dropped 1795287170733000, \
             gonef Tuple([Tuple([Int, List(Text)]), Int]) dropped 1795287171252000, \
             gonel List(Int)* dropped 1795287170891000, gones Int static dropped 1795287171421000",
        ],
    );
}

#[test]
fn cassandra_4_0_rows_and_cql_agree() {
    check(
        include_str!("schema_recorded/4.0.19.cql"),
        include_str!("schema_recorded/4.0.19.json"),
        13,
        [
            "ks.sc: (k Int) column1 Text | value Blob, a Text static, \
             b Int static dropped 1795287329312000",
            "ks.Tbl cdc: (p Int, Q q Text) c TimeUuid desc, d\"d Int | back Int, fu Outer T,",
        ],
    );
}
