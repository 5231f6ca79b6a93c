//! CREATE TABLE, and all that is left out.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, ColumnKind, TableId, TableKind, parse_cql};

use super::{ID, columns, live, schema, table};

#[test]
fn a_table_with_everything() {
    use ColumnKind::{Clustering, PartitionKey, Regular, Static};
    let table = table(
        r#"
        CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy'} AND durable_writes = true;

        CREATE TABLE ks."T b" (
            p1 int,
            "P""2" text,
            k1 timeuuid,
            "漢" bigint,
            s set<int> static,
            "select" text,
            v frozen<map<int, text>>,
            m text MASKED WITH system.mask_inner(1, null),
            w list<text>,
            PRIMARY KEY ((p1, "P""2"), k1, "漢")
        ) WITH ID = $ID
            AND CLUSTERING ORDER BY (k1 DESC, "漢" ASC)
            AND caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}
            AND cdc = true
            AND comment = 'it''s; AND cdc = false -- no comment'
            AND compression = {'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}
            AND crc_check_chance = 1.0
            AND extensions = {'x': 0x00ff}
            AND speculative_retry = '99p';
        "#,
    );
    assert_eq!(table.id, TableId::parse(ID).unwrap());
    assert_eq!(
        (table.keyspace.as_str(), table.name.as_str()),
        ("ks", "T b")
    );
    assert_eq!(
        (table.kind, table.cdc, table.counter),
        (TableKind::Table, true, false)
    );
    let map = CqlType::Map(Box::new(CqlType::Int), Box::new(CqlType::Text));
    let expected = [
        live("p1", PartitionKey, CqlType::Int),
        live("P\"2", PartitionKey, CqlType::Text),
        ("k1", Clustering, CqlType::TimeUuid, false, true, None),
        live("漢", Clustering, CqlType::BigInt),
        live("m", Regular, CqlType::Text),
        live("select", Regular, CqlType::Text),
        live("v", Regular, map),
        (
            "w",
            Regular,
            CqlType::List(Box::new(CqlType::Text)),
            true,
            false,
            None,
        ),
        (
            "s",
            Static,
            CqlType::Set(Box::new(CqlType::Int)),
            true,
            false,
            None,
        ),
    ];
    assert_eq!(columns(&table), expected);
}

#[test]
fn forms_of_a_primary_key() {
    // Partition key, clustering and other columns, in order.
    let cases = [
        ("a int PRIMARY KEY, b int", "(a) | | b"),
        ("b int, a int PRIMARY KEY", "(a) | | b"),
        ("a int, b int, PRIMARY KEY (a)", "(a) | | b"),
        ("a int, b int, c int, PRIMARY KEY (b, a)", "(b) | a | c"),
        (
            "a int, b int, c int, PRIMARY KEY ((c, a), b)",
            "(c, a) | b |",
        ),
    ];
    for (text, keys) in cases {
        let table = table(&format!("CREATE TABLE ks.t ({text}) WITH ID = $ID;"));
        let names = |columns: &[Column]| {
            let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            names.join(", ")
        };
        let found = format!(
            "({}) | {} | {}",
            names(&table.partition_key),
            names(&table.clustering),
            names(&table.columns)
        );
        let squeezed = found.replace("  ", " ");
        assert_eq!(squeezed.trim(), keys, "{text}");
    }
}

#[test]
fn cdc_is_off_unless_it_is_on() {
    let cdc = |text: &str| {
        table(&format!(
            "CREATE TABLE ks.t (k int PRIMARY KEY) WITH {text}"
        ))
        .cdc
    };
    assert!(!cdc("ID = $ID"));
    assert!(!cdc("cdc = false AND ID = $ID"));
    assert!(cdc("CDC = TRUE AND ID = '$ID' AND comment = 'x'"));
    assert!(cdc("ID = $ID; ALTER TABLE ks.t WITH cdc = true;"));
    assert!(!cdc(
        "ID = $ID AND cdc = true; ALTER TABLE ks.t WITH comment = '' AND cdc = 'false'"
    ));
}

#[test]
fn counters_make_a_counter_table() {
    let counter = |column: &str| {
        table(&format!(
            "CREATE TABLE ks.t (k int PRIMARY KEY, {column}) WITH ID = $ID;"
        ))
        .counter
    };
    assert!(counter("c counter"));
    assert!(!counter("c bigint"));
    assert!(
        table(
            "CREATE TABLE ks.t (k int, c int, s counter static, PRIMARY KEY (k, c)) WITH ID = $ID"
        )
        .counter
    );
}

#[test]
fn what_is_not_about_tables_is_left_out() {
    let schema = schema(
        r#"
        /* CREATE TABLE ks.in_comment (k int PRIMARY KEY); ' " */
        -- CREATE TABLE ks.in_comment (k int PRIMARY KEY); '
        // CREATE TABLE ks.in_comment (k int PRIMARY KEY); "
        CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY, -- the key
            v /* the value */ text, // and no more
        ) WITH ID = $ID;
        CREATE INDEX i ON ks.t (values(v));
        CREATE CUSTOM INDEX i2 ON ks.t (v) USING 'sai' WITH OPTIONS = {'a': 'b;''c'};
        CREATE OR REPLACE FUNCTION ks.f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java
            AS $$ if (a > 0) { return 1; } /* ' " */ CREATE TABLE ks.no (k int PRIMARY KEY); $$;
        CREATE FUNCTION ks.g(a text) RETURNS NULL ON NULL INPUT RETURNS text LANGUAGE java
            AS 'return "x;" + ''CREATE TABLE'';';
        CREATE OR REPLACE AGGREGATE ks.a (int) SFUNC f STYPE int INITCOND 0;
        CREATE TRIGGER t ON ks.t USING 'com.example.T';
        CREATE ROLE r WITH PASSWORD = ';' AND LOGIN = true;
        GRANT SELECT ON ks.t TO r;
        ;;
        INSERT INTO ks.t (k, v) VALUES (-1, 'a;b');
        USE ks;
        CREATE TABLE "unqualified" (k int PRIMARY KEY) WITH ID = $OTHER
        "#,
    );
    let names: Vec<_> = (schema.tables().iter())
        .map(|table| table.name.clone())
        .collect();
    assert_eq!(names, ["t", "unqualified"]);
    assert!(parse_cql("").unwrap().is_empty());
    assert!(parse_cql("\u{feff} -- nothing").unwrap().is_empty());
}

/// What DESCRIBE of 6.0-alpha2 prints: constraints, ids made from epochs, comments and labels.
#[test]
fn tables_of_6_0() {
    let schema = schema(
        "
        CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'}  AND
            durable_writes = true  AND fast_path = 'simple';
        COMMENT ON KEYSPACE k IS 'ks';
        CREATE TABLE k.a (
            p int CHECK p > 1,
            c text CHECK LENGTH() < 20,
            s int static CHECK s > 0 AND s < 100,
            r text CHECK REGEXP() = '.*a;b, c.*',
            v text CHECK NOT NULL,
            PRIMARY KEY (p, c)
        ) WITH ID = 1b255f4d-ef25-40a6-0000-000000000005
            AND CLUSTERING ORDER BY (c ASC)
            AND cdc = true
            AND fast_path = 'keyspace'
            AND transactional_mode = 'off'
            AND transactional_migration_from = 'none';
        ALTER TABLE k.a DROP v USING TIMESTAMP 1795711491891000;
        ALTER TABLE k.a ADD v text CHECK NOT NULL;
        SECURITY LABEL ON TABLE k.a IS 'l';
        COMMENT ON COLUMN k.a.r IS 'col; CREATE TABLE';
        /*
        Warning: Table k.b omitted because it has constructs not compatible with CQL.
        (this should not be used to reproduce this schema)

        CREATE TABLE k.b (
            p int,
            c int,
            v int,
            PRIMARY KEY (p, c)
        ) WITH COMPACT STORAGE
            AND ID = tid:1e6
            AND CLUSTERING ORDER BY (c ASC);
        */
        ",
    );
    let ids = schema
        .tables()
        .into_iter()
        .map(|table| table.id.to_string());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        [
            "1b255f4d-ef25-40a6-0000-000000000005",
            "1b255f4d-ef25-40a6-0000-0000000001e6"
        ]
    );
    let table = &schema.tables()[0];
    assert!(table.cdc);
    let names = table.columns.iter().map(|column| column.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["r", "v", "s"]);
}
