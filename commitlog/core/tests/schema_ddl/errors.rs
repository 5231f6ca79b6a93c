//! What the errors say.

use crate::error;

#[test]
fn errors_have_the_line_and_what_was_expected() {
    let cases: [(&str, usize, &str); 22] = [
        (
            "\n\nCREATE TABLE ks.t (k int PRIMARY KEY);",
            3,
            "table ks.t: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids",
        ),
        (
            "CREATE TABLE ks.t\n(k int PRIMARY KEY)\nWITH cdc = true;",
            1,
            "table ks.t: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids",
        ),
        (
            "CREATE TABLE ks.t (k int) WITH ID = $ID",
            1,
            "table ks.t: expected a PRIMARY KEY",
        ),
        (
            "CREATE TABLE ks.t (k int, PRIMARY KEY (k, c)) WITH ID = $ID",
            1,
            "table ks.t: PRIMARY KEY names c, which is not a column",
        ),
        (
            "CREATE TABLE ks.t (\n k int,\n v text,\n v int, PRIMARY KEY (k)) WITH ID = $ID",
            4,
            "table ks.t: column v appears twice",
        ),
        (
            "CREATE TABLE ks.t (k int PRIMARY KEY,\n v thing) WITH ID = $ID",
            2,
            "there is no type ks.thing",
        ),
        (
            "CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = 12",
            1,
            "expected the table id as a UUID, found `12`",
        ),
        (
            "CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = $ID AND cdc = maybe",
            1,
            "expected true or false, found `maybe`",
        ),
        (
            "CREATE TABLE ks.t (k int PRIMARY KEY) WITH ID = $ID x",
            1,
            "expected AND, found `x`",
        ),
        (
            "CREATE TABLE ks.t (k int PRIMARY KEY) ID = $ID",
            1,
            "expected WITH, found `ID`",
        ),
        ("CREATE TABLE ks.t k int", 1, "expected `(`, found `k`"),
        (
            "CREATE TABLE ks.t (k int 'x')",
            1,
            "expected `,` or `)` after the column, found the string 'x'",
        ),
        ("CREATE TABLE ks.t (k)", 1, "expected a type, found `)`"),
        (
            "CREATE TABLE t (k int PRIMARY KEY)",
            1,
            "expected `.` and the name of a table after its keyspace t, found `(`",
        ),
        (
            "CREATE TYPE ks.u (a int\n b int);",
            2,
            "expected `)`, found `b`",
        ),
        (
            "CREATE TYPE ks.a (x frozen<b>);\nCREATE TYPE ks.b (x frozen<c>);",
            2,
            "there is no type ks.c",
        ),
        (
            "CREATE TYPE ks.a (x frozen<b>);\nCREATE TYPE ks.b (x frozen<a>);",
            1,
            "type ks.b contains itself",
        ),
        (
            "ALTER TABLE ks.t DROP v USING TIMESTAMP 1",
            1,
            "table ks.t is not declared before this statement",
        ),
        (
            "\n SELECT 'a\nb",
            2,
            "the string in single quotes that starts here has no end",
        ),
        ("/* \n\n", 1, "the comment that starts here has no end"),
        (
            "SELECT \"a",
            1,
            "the name in double quotes that starts here has no end",
        ),
        (
            "\n{\"tables\": []}",
            2,
            "expected a CQL statement, found `{`",
        ),
    ];
    for (text, line, what) in cases {
        assert_eq!(error(text), (line, what.to_owned()), "{text}");
    }
}

#[test]
fn errors_in_alterations_and_views() {
    let base = "CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH ID = $ID;\n";
    let view = |select: &str, from: &str, with: &str| {
        format!(
            "CREATE MATERIALIZED VIEW ks.mv AS SELECT {select} FROM {from} WHERE v IS NOT NULL PRIMARY KEY (v, k) {with}"
        )
    };
    let cases = [
        (
            "ALTER TABLE ks.t DROP x USING TIMESTAMP 1".to_owned(),
            "table ks.t: x is not one of its columns",
        ),
        (
            "ALTER TABLE ks.t ADD v int".to_owned(),
            "table ks.t: v exists already",
        ),
        (
            "ALTER TABLE ks.t DROP v USING TIMESTAMP x".to_owned(),
            "expected a timestamp in microseconds, found `x`",
        ),
        (
            "ALTER TABLE ks.t DROP v AT 1".to_owned(),
            "expected the end of the statement, found `AT`",
        ),
        (
            "ALTER TABLE ks.t DROP COMPACT STORAGE".to_owned(),
            "expected ADD, WITH or DROP of columns, found `DROP`",
        ),
        (
            "ALTER TABLE ks.t RENAME v TO w".to_owned(),
            "expected ADD, WITH or DROP of columns, found `RENAME`",
        ),
        (
            "ALTER TYPE ks.u ADD x int".to_owned(),
            "ALTER TYPE is not supported; change its CREATE TYPE instead",
        ),
        (
            view("*", "ks.t", ""),
            "materialized view ks.mv: expected WITH ID = …; describe the schema WITH INTERNALS to get the ids",
        ),
        (
            view("*", "ks.gone", "WITH ID = $ID"),
            "materialized view ks.mv: its base table ks.gone is not declared",
        ),
        (
            view("x", "ks.t", "WITH ID = $ID"),
            "materialized view ks.mv: its base table ks.t has no column x",
        ),
    ];
    for (text, what) in cases {
        assert_eq!(
            error(&format!("{base}{text}")),
            (2, what.to_owned()),
            "{text}"
        );
    }
}
