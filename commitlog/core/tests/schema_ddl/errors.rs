//! What the errors say.

use super::error;

/// The line of the error, what it says, and the text. Its line ends are `¶`.
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
2 | table ks.t: v exists already | $TABLE ALTER TABLE ks.t ADD v int
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
fn errors_have_the_line_and_what_was_expected() {
    for case in ERRORS.trim().lines() {
        let [line, what, text] = case.split(" | ").collect::<Vec<_>>()[..] else {
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
        assert_eq!(
            error(&text),
            (line.parse().unwrap(), what.to_owned()),
            "{text}"
        );
    }
}
