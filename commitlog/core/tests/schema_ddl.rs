//! Schemas parsed from CQL text.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{
    Column, ColumnKind, Schema, SchemaError, Table, TableId, TableKind, parse_cql,
};

const ID: &str = "483d7350-e5c9-11f1-998c-b39dc08f01bb";
const OTHER_ID: &str = "4d64e0c0-e5c9-11f1-998c-b39dc08f01bb";

fn schema(text: &str) -> Schema {
    parse_cql(&text.replace("$ID", ID).replace("$OTHER", OTHER_ID)).unwrap()
}

/// The tables of a schema, one per line: name and options, the partition key in brackets,
/// clustering columns, a bar, and the other columns. A star marks a multi-cell type.
pub fn outline(schema: &Schema) -> String {
    let tables = schema.tables();
    let lines: Vec<_> = tables.iter().map(|table| table_outline(table)).collect();
    lines.join("\n")
}

fn table_outline(table: &Table) -> String {
    let options = [
        (table.kind == TableKind::View, " view"),
        (table.cdc, " cdc"),
        (table.counter, " counter"),
        (table.dense, " dense"),
    ];
    let options = options.map(|(is_set, word)| if is_set { word } else { "" });
    let text = format!(
        "{}.{}{}: ({}) {} | {}",
        table.keyspace,
        table.name,
        options.concat(),
        columns(&table.partition_key),
        columns(&table.clustering),
        columns(&table.columns)
    );
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn columns(columns: &[Column]) -> String {
    let words: Vec<_> = columns.iter().map(column).collect();
    words.join(", ")
}

fn column(column: &Column) -> String {
    let cql_type = match &column.cql_type {
        CqlType::Udt(user_type) => user_type.name.clone(),
        other => format!("{other:?}"),
    };
    let star = if column.multi_cell { "*" } else { "" };
    let desc = if column.reversed { " desc" } else { "" };
    let is_static = column.kind == ColumnKind::Static;
    let kind = if is_static { " static" } else { "" };
    let dropped = column.dropped_at_us;
    let dropped = dropped.map_or(String::new(), |time_us| format!(" dropped {time_us}"));
    format!("{} {cql_type}{star}{desc}{kind}{dropped}", column.name)
}

/// Texts, each followed by the outline of its tables. Tables with compact storage follow the layout
/// of Cassandra 5.0.9.
const TABLES: &str = r#"
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
=> ks.T b cdc: (p1 Int, P"2 Text) k1 TimeUuid desc, 漢 BigInt | m Text, select Text, v Map(Int, Text), w List(Text)*, s Set(Int)* static
CREATE TABLE ks.t (a int PRIMARY KEY, b int) WITH ID = $ID;
=> ks.t: (a Int) | b Int
CREATE TABLE ks.t (b int, a int PRIMARY KEY) WITH cdc = false AND ID = $ID;
=> ks.t: (a Int) | b Int
CREATE TABLE ks.t (a int, b int, PRIMARY KEY (a)) WITH CDC = TRUE AND ID = '$ID' AND comment = 'x'
=> ks.t cdc: (a Int) | b Int
CREATE TABLE ks.t (a int, b int, c int, PRIMARY KEY (b, a)) WITH ID = $ID; ALTER TABLE ks.t WITH cdc = true;
=> ks.t cdc: (b Int) a Int | c Int
CREATE TABLE ks.t (a int, b int, c int, PRIMARY KEY ((c, a), b)) WITH ID = $ID AND cdc = true;
ALTER TABLE ks.t WITH comment = '' AND cdc = 'false'
=> ks.t: (c Int, a Int) b Int |
CREATE TABLE ks.t (k int PRIMARY KEY, c counter) WITH ID = $ID;
=> ks.t counter: (k Int) | c Counter
CREATE TABLE ks.t (k int, c int, s counter static, PRIMARY KEY (k, c)) WITH ID = $ID
=> ks.t counter: (k Int) c Int | s Counter static
CREATE TABLE ks.t (k int PRIMARY KEY, a text, b int) WITH COMPACT STORAGE AND ID = $ID;
=> ks.t: (k Int) column1 Text | value Blob, a Text static, b Int static
CREATE TABLE ks.t (k int PRIMARY KEY, column1 text, value int) WITH COMPACT STORAGE AND ID = $ID;
=> ks.t: (k Int) column2 Text | value1 Blob, column1 Text static, value Int static
CREATE TABLE ks.t (k int PRIMARY KEY, c counter) WITH COMPACT STORAGE AND ID = $ID;
=> ks.t counter: (k Int) column1 Text | value Counter, c Counter static
CREATE TABLE ks.t (k int, value text, PRIMARY KEY (k, value)) WITH COMPACT STORAGE AND ID = $ID;
=> ks.t dense: (k Int) value Text | value1 Empty
CREATE TABLE ks.t (k int, c text, d int, v int, PRIMARY KEY (k, c, d)) WITH COMPACT STORAGE AND ID = $ID;
=> ks.t dense: (k Int) c Text, d Int | v Int
/*
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
    AND CLUSTERING ORDER BY ("Col" ASC)
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
CREATE TABLE ks.u (k int PRIMARY KEY) WITH ID = $OTHER;
=> ks.t cdc: (k Int) Col Text | value Blob, a Text static, b Int static
ks.u: (k Int) |
CREATE TYPE ks.addr(street text, no int);
CREATE TABLE IF NOT EXISTS ks.compact (
	a int,
	b int,
	v text,
	PRIMARY KEY ((a, b), column1))
	WITH ID = $ID
	AND COMPACT STORAGE
	AND bloom_filter_fp_chance = 0.01
	AND extensions = {  };
CREATE TABLE IF NOT EXISTS ks.t (
	k int PRIMARY KEY,
	u frozen<addr>)
	WITH ID = $OTHER
	AND cdc = true;
CREATE INDEX i ON ks.t (u);
=> ks.compact: (a Int, b Int) column1 Text | value Blob, v Text static
ks.t cdc: (k Int) | u addr
CREATE TABLE ks.t (
    k int PRIMARY KEY,
    v int,
    gone map<int, int>,
    back text,
    "Moved" int static,
    many1 int,
    many2 int
) WITH ID = $ID;
ALTER TABLE ks.t DROP gone USING TIMESTAMP 1795278812117000;
ALTER TABLE ks.t DROP back USING TIMESTAMP 1795278811501000;
ALTER TABLE ks.t ADD back text;
ALTER TABLE ks.t DROP "Moved" USING TIMESTAMP -5;
ALTER TABLE ks.t ADD "Moved" int;
ALTER TABLE ks.t ADD (added1 int, added2 int static);
ALTER TABLE ks.t ADD added3 text MASKED WITH DEFAULT, added4 list<int>;
ALTER TABLE ks.t DROP (many1, many2) USING TIMESTAMP 7;
ALTER TABLE ks.t DROP added3;
=> ks.t: (k Int) | Moved Int, added1 Int, added4 List(Int)*, back Text, v Int, added2 Int static, added3 Text dropped -9223372036854775808, gone Map(Int, Int)* dropped 1795278812117000, many1 Int dropped 7, many2 Int dropped 7, Moved Int static dropped -5
CREATE TABLE ks.t (k int PRIMARY KEY, a text) WITH ID = $ID;
CREATE TABLE ks.t (k int PRIMARY KEY, b int) WITH ID = $OTHER;
ALTER TABLE ks.t DROP b USING TIMESTAMP 1;
=> ks.t: (k Int) | a Text
ks.t: (k Int) | b Int dropped 1
CREATE TABLE ks.t (p int, k text, v list<int>, w int, PRIMARY KEY (p, k))
    WITH ID = $OTHER AND CLUSTERING ORDER BY (k DESC) AND cdc = true;
ALTER TABLE ks.t ADD gone int; ALTER TABLE ks.t DROP gone;
CREATE MATERIALIZED VIEW IF NOT EXISTS ks.mv AS
    SELECT w, p, k, v FROM ks.t
    WHERE w IS NOT NULL AND p IS NOT NULL AND k IN ('primary key (', 'b') AND v = [1, 2]
    PRIMARY KEY (w, p, k)
 WITH ID = $ID AND CLUSTERING ORDER BY (p DESC, k ASC) AND cdc = false;
=> ks.mv view: (w Int) p Int desc, k Text | v List(Int)*
ks.t cdc: (p Int) k Text desc | v List(Int)*, w Int, gone Int dropped -9223372036854775808
CREATE TABLE ks.t (p int, k text, v list<int>, w int, PRIMARY KEY (p, k)) WITH ID = $OTHER;
CREATE MATERIALIZED VIEW ks.mv AS SELECT * FROM ks.t WHERE k IS NOT NULL AND p IS NOT NULL
    PRIMARY KEY ((k, p)) WITH ID = $ID;
=> ks.mv view: (k Text, p Int) | v List(Int)*, w Int
ks.t: (p Int) k Text | v List(Int)*, w Int
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
=> ks.t: (k Int) | v Text
ks.unqualified: (k Int) |
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
=> k.a cdc: (p Int) c Text | r Text, v Text, s Int static
"#;

#[test]
fn tables_are_parsed_from_cql() {
    let mut text = String::new();
    let mut lines = TABLES.trim().lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("=> ") else {
            text = format!("{text}{line}\n");
            continue;
        };
        let mut expected = first.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("ks.")) {
            expected = format!("{expected}\n{more}");
        }
        assert_eq!(outline(&schema(&text)), expected, "{text}");
        text.clear();
    }
    assert!(parse_cql("").unwrap().is_empty());
    assert!(parse_cql("\u{feff} -- nothing").unwrap().is_empty());
}

#[test]
fn altered_table_keeps_its_id() {
    let created = "CREATE TABLE ks.t (a int PRIMARY KEY) WITH ID = $ID;";
    let altered = schema(&format!(
        "{created} ALTER TABLE ks.t WITH id = $OTHER AND cdc = true;"
    ));
    let [table] = &altered.tables()[..] else {
        panic!("one table");
    };
    assert!(table.cdc);
    assert_eq!(table.id, schema(created).tables()[0].id);
}

#[test]
fn every_version_of_column_is_retained() {
    let schema = schema(
        "CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH ID = $ID;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 10;
         ALTER TABLE ks.t ADD v blob;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 20;
         ALTER TABLE ks.t ADD v text;
         ALTER TABLE ks.t DROP v USING TIMESTAMP 30;
         ALTER TABLE ks.t ADD v int;",
    );
    let table = &schema.tables()[0];
    assert_eq!(
        table_outline(table),
        "ks.t: (k Int) | v Int, v Text dropped 30, v Blob dropped 20"
    );
    let drops = table.columns.iter().map(|column| &column.history.drops_us);
    assert_eq!(
        drops.collect::<Vec<_>>(),
        [&vec![], &vec![10, 30], &vec![20]]
    );
    assert!(table.has_versions());
}

/// DESCRIBE of 6.0-alpha2 prints such an id for a table whose id derives from an epoch.
#[test]
fn table_ids_derived_from_epochs_are_parsed() {
    let schema = schema(
        "CREATE TABLE k.a (p int PRIMARY KEY) WITH ID = 1b255f4d-ef25-40a6-0000-000000000005;
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
        */",
    );
    let ids = schema
        .tables()
        .into_iter()
        .map(|table| table.id.to_string());
    let expected =
        ["000000000005", "0000000001e6"].map(|end| format!("1b255f4d-ef25-40a6-0000-{end}"));
    assert_eq!(ids.collect::<Vec<_>>(), expected);
}

#[test]
fn view_belongs_to_preceding_table() {
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

/// The line of the error, its message, and the text; `¶` stands for a line end.
const ERRORS: &str = r#"
3 | table ks.t: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids | ¶¶CREATE TABLE ks.t (k int PRIMARY KEY);
1 | table ks.t: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids | CREATE TABLE ks.t¶(k int PRIMARY KEY)¶WITH cdc = true;
1 | table ks.t: expected a PRIMARY KEY | CREATE TABLE ks.t (k int) WITH ID = $ID
1 | table ks.t: PRIMARY KEY names c, which is not a column | CREATE TABLE ks.t (k int, PRIMARY KEY (k, c)) WITH ID = $ID
4 | table ks.t: column v appears twice | CREATE TABLE ks.t (¶ k int,¶ v text,¶ v int, PRIMARY KEY (k)) WITH ID = $ID
2 | there is no type ks.thing | CREATE TABLE ks.t (k int PRIMARY KEY,¶ v thing) WITH ID = $ID
1 | expected the table id as a UUID, found `12` | CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = 12
1 | expected true or false, found `maybe` | CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = $ID AND cdc = maybe
1 | expected AND, found `x` | CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = $ID x
1 | expected WITH, found `ID` | CREATE TABLE ks.t (k int PRIMARY KEY) ID = $ID
1 | expected `(`, found `k` | CREATE TABLE ks.t k int
1 | expected `,` or `)` after the column, found the string 'x' | CREATE TABLE ks.t (k int 'x')
1 | expected a type, found `)` | CREATE TABLE ks.t (k)
1 | expected `.` and the name of a table after its keyspace t, found `(` | CREATE TABLE t (k int PRIMARY KEY)
2 | expected `)`, found `b` | CREATE TYPE ks.u (a int¶ b int);
2 | there is no type ks.c | CREATE TYPE ks.a (x frozen<b>);¶CREATE TYPE ks.b (x frozen<c>);
1 | type ks.b contains itself | CREATE TYPE ks.a (x frozen<b>);¶CREATE TYPE ks.b (x frozen<a>);
1 | table ks.t is not declared before this statement | ALTER TABLE ks.t DROP v USING TIMESTAMP 1
2 | the string in single quotes that starts here has no end | ¶ SELECT 'a¶b
1 | the comment that starts here has no end | /* ¶¶
1 | the name in double quotes that starts here has no end | SELECT "a
2 | expected a CQL statement, found `{` | ¶{"tables": []}
2 | table ks.t: x is not one of its columns | $TABLE ALTER TABLE ks.t DROP x USING TIMESTAMP 1
2 | table ks.t: v already exists | $TABLE ALTER TABLE ks.t ADD v int
2 | expected a timestamp in microseconds, found `x` | $TABLE ALTER TABLE ks.t DROP v USING TIMESTAMP x
2 | expected the end of the statement, found `AT` | $TABLE ALTER TABLE ks.t DROP v AT 1
2 | expected ADD, WITH or DROP of columns, found `DROP` | $TABLE ALTER TABLE ks.t DROP COMPACT STORAGE
2 | expected ADD, WITH or DROP of columns, found `RENAME` | $TABLE ALTER TABLE ks.t RENAME v TO w
2 | ALTER TYPE is not supported; change its CREATE TYPE instead | $TABLE ALTER TYPE ks.u ADD x int
2 | materialized view ks.mv: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids | $TABLE $VIEW * FROM ks.t $WHERE
2 | materialized view ks.mv: its base table ks.gone is not declared | $TABLE $VIEW * FROM ks.gone $WHERE WITH ID = $ID
2 | materialized view ks.mv: its base table ks.t has no column x | $TABLE $VIEW x FROM ks.t $WHERE WITH ID = $ID
"#;

#[test]
fn errors_contain_line_and_expectation() {
    for case in ERRORS.trim().lines() {
        let [line, reason, text] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let text = text
            .replace(
                "$TABLE",
                "CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH ID = $ID;¶",
            )
            .replace("$VIEW", "CREATE MATERIALIZED VIEW ks.mv AS SELECT")
            .replace("$WHERE", "WHERE v IS NOT NULL PRIMARY KEY (v, k)")
            .replace('¶', "\n");
        let error = parse_cql(&text.replace("$ID", ID)).unwrap_err();
        let SchemaError::Syntax {
            line: found_line,
            reason: found,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (found_line, found.as_str()),
            (line.parse().unwrap(), reason),
            "{text}"
        );
    }
}
