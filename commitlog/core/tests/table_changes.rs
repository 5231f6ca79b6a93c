//! Statements derived from two definitions of a table, and the announced part of a schema.
use commitlog_core::schema::{
    AnnouncedSchema, ChangeKind, Schema, TableChange, UnannouncedTable, parse_cql,
};

const ID: &str = "483d7350-e5c9-11f1-998c-b39dc08f01bb";
const TYPES: &str = "CREATE TYPE ks.point (x int, y int);\n";

fn cql(columns: &str, types: &str) -> String {
    format!("{types}CREATE TABLE ks.t ({columns}) WITH ID = {ID} AND cdc = true;")
}

fn schema(columns: &str, types: &str) -> Schema {
    parse_cql(&cql(columns, types)).unwrap()
}

fn altered(before: &Schema, after: &Schema) -> String {
    let (before, after) = (&before.tables()[0], &after.tables()[0]);
    let change = TableChange::compare(Some(before), after, 7).unwrap();
    assert_eq!(change.kind, ChangeKind::Alter);
    change.cql()
}

#[test]
fn table_definition_becomes_one_statement() {
    let columns = "\"K k\" int, c timestamp, s text static, \"select\" frozen<list<point>>, \
        m map<text, frozen<tuple<int, text>>>, PRIMARY KEY (\"K k\", c)";
    let text = cql(columns, TYPES).replace("AND cdc", "AND CLUSTERING ORDER BY (c DESC) AND cdc");
    let schema = parse_cql(&text).unwrap();
    let change = TableChange::create(schema.tables()[0]);
    assert_eq!(
        change.cql(),
        "CREATE TABLE ks.t (\"K k\" int, c timestamp, m map<text, frozen<tuple<int, text>>>, \
         \"select\" frozen<list<frozen<point>>>, s text static, PRIMARY KEY (\"K k\", c)) \
         WITH CLUSTERING ORDER BY (c DESC) AND cdc = true"
    );
    let read = parse_cql(&format!(
        "{TYPES}{};",
        change
            .cql()
            .replace("WITH ", &format!("WITH ID = {ID} AND "))
    ));
    assert!(read.unwrap().tables()[0].is_defined_as(schema.tables()[0]));
}

#[test]
fn table_differences_become_statements() {
    let columns = "k int, a int, b text, PRIMARY KEY (k)";
    let before = schema(columns, TYPES);
    let cases = "
k int, a int, b text, \"C\" set<int>, PRIMARY KEY (k) | ALTER TABLE ks.t ADD \"C\" set<int>
k int, a int, PRIMARY KEY (k) | ALTER TABLE ks.t DROP b
k int, a int, b blob, PRIMARY KEY (k) | ALTER TABLE ks.t DROP b;¶ALTER TABLE ks.t ADD b blob
key int, a int, b text, PRIMARY KEY (key) | ALTER TABLE ks.t RENAME k TO key
";
    for case in cases.trim().lines() {
        let (columns, expected) = case.split_once(" | ").unwrap();
        let after = schema(columns, TYPES);
        assert_eq!(altered(&before, &after), expected.replace('¶', "\n"));
    }
    let uncaptured = parse_cql(&cql(columns, TYPES).replace("true", "false")).unwrap();
    let expected = "ALTER TABLE ks.t WITH cdc = false";
    assert_eq!(altered(&before, &uncaptured), expected);
    let table = &before.tables()[0];
    assert!(TableChange::compare(Some(table), table, 7).is_none());
}

#[test]
fn extended_user_type_becomes_alter_type() {
    let columns = "k int, p list<frozen<point>>, q frozen<point>, PRIMARY KEY (k)";
    let larger = TYPES.replace("y int", "y int, z int");
    let found = altered(&schema(columns, TYPES), &schema(columns, &larger));
    assert_eq!(found, "ALTER TYPE ks.point ADD z int");
}

#[test]
fn unannounced_columns_and_tables_are_found() {
    let first = schema("k int, a int, PRIMARY KEY (k)", "");
    let (announced, changes) = AnnouncedSchema::initial(&first);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind, ChangeKind::Create);
    assert_eq!(announced.lacks(first.tables()[0]), None);

    let later = schema("k int, a int, b int, PRIMARY KEY (k)", "");
    let unannounced = announced.lacks(later.tables()[0]).unwrap();
    assert_eq!(unannounced, UnannouncedTable::Columns(vec!["b".to_owned()]));
    let needs = |schema: &Schema, columns: &[u32]| {
        let table = schema.tables()[0];
        announced.is_lacking_for(&unannounced, table, columns.iter().copied())
    };
    assert!(!needs(&later, &[0]));
    assert!(needs(&later, &[0, 1]));
    // An update may be decoded with an older definition with other column positions.
    let older = schema("k int, a int, z int, PRIMARY KEY (k)", "");
    assert!(!needs(&older, &[0, 1]));

    let nothing = AnnouncedSchema::default();
    let table = later.tables()[0];
    assert_eq!(nothing.lacks(table), Some(UnannouncedTable::Whole));
    let (complete, change) = announced.with_table_of(&later, table.id);
    assert_eq!(change.unwrap().cql(), "ALTER TABLE ks.t ADD b int");
    assert_eq!(complete.lacks(table), None);

    let stored = AnnouncedSchema::from_stored(complete.to_stored().as_bytes()).unwrap();
    assert_eq!(stored, complete);
    assert!(AnnouncedSchema::from_stored(b"{}").is_err());
}
