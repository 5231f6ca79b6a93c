//! Every recorded `schema*.cql` of real nodes, 3.11 to 5.0, where the recordings are there.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Schema, Table, TableId, TableKind, parse_cql};

/// The folder of recordings beside the repository, or below `CDC_SHARED`.
fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("CDC_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let fixtures = shared.join("fixtures");
    fixtures.is_dir().then_some(fixtures)
}

fn schema_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            schema_files(&path, found);
        } else if name.starts_with("schema") && path.extension().is_some_and(|e| e == "cql") {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Schema {
    let text = std::fs::read_to_string(path).unwrap();
    parse_cql(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the lines of a `DESCRIBE` text say about one table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outline {
    view: bool,
    cdc: bool,
    columns: usize,
}

/// Outlines by id, from the layout of the lines alone.
fn outlines(text: &str) -> BTreeMap<TableId, Outline> {
    let mut outlines = BTreeMap::new();
    let mut id = None;
    let mut outline = Outline::default();
    let mut in_columns = false;
    for line in text.lines() {
        if line.starts_with("CREATE TABLE") {
            (outline, id, in_columns) = (Outline::default(), None, true);
        } else if line.starts_with("CREATE MATERIALIZED VIEW") {
            (outline, id) = (Outline::default(), None);
            outline.view = true;
        } else if let Some((before, after)) = line.split_once("WITH ID = ") {
            in_columns = false;
            outline.columns += usize::from(before.contains("PRIMARY KEY ("));
            id = TableId::parse(after.trim());
        } else if in_columns {
            outline.columns += usize::from(!line.trim().starts_with("PRIMARY KEY"));
        }
        outline.cdc |= line.trim() == "AND cdc = true";
        if line.ends_with(';')
            && let Some(id) = id.take()
        {
            outlines.insert(id, std::mem::take(&mut outline));
        }
    }
    outlines
}

#[test]
fn all_recorded_schemas_are_read() {
    let Some(fixtures) = fixtures() else {
        return;
    };
    let mut files = Vec::new();
    schema_files(&fixtures, &mut files);
    assert!(files.len() >= 70, "{} schemas", files.len());
    for path in files {
        let schema = read(&path);
        let mut expected = outlines(&std::fs::read_to_string(&path).unwrap());
        let mut found = BTreeMap::new();
        for table in schema.tables() {
            assert!(!table.partition_key.is_empty());
            let view = table.kind == TableKind::View;
            let columns = table.partition_key.len() + table.clustering.len() + table.columns.len();
            let outline = Outline {
                view,
                cdc: table.cdc,
                columns: if view { 0 } else { columns },
            };
            found.insert(table.id, outline);
        }
        for outline in expected.values_mut().filter(|outline| outline.view) {
            outline.columns = 0;
        }
        assert!(!found.is_empty(), "{}", path.display());
        assert_eq!(found, expected, "{}", path.display());
    }
}

fn table(schema: &Schema, id: &str) -> Table {
    let id = TableId::parse(id).unwrap();
    Table::clone(schema.table(id).unwrap())
}

#[test]
fn types_of_a_recorded_table() {
    let Some(fixtures) = fixtures() else {
        return;
    };
    let schema = read(&fixtures.join("5.0/f01-types/schema.cql"));
    let table = table(&schema, "240c5050-e5c9-11f1-998c-b39dc08f01bb");
    assert_eq!(table.columns.len(), 62);
    let column = |name: &str| table.columns.iter().find(|c| c.name == name).unwrap();
    let person = &column("c34").cql_type;
    let CqlType::Udt(user_type) = person else {
        panic!("{person:?}");
    };
    let fields: Vec<_> = (user_type.fields.iter()).map(|f| f.name.as_str()).collect();
    assert_eq!(fields, ["name", "home", "phones", "pos"]);
    assert!(column("c34").multi_cell && !column("c35").multi_cell);
    assert_eq!(&column("c35").cql_type, person);
    let vectors = CqlType::Vector(Box::new(CqlType::Double), 2);
    assert_eq!(
        column("c50").cql_type,
        CqlType::Vector(Box::new(vectors), 2)
    );
}

#[test]
fn names_beyond_ascii_of_a_recorded_table() {
    let Some(fixtures) = fixtures() else {
        return;
    };
    let schema = read(&fixtures.join("3.11/mixed/schema.cql"));
    let table = table(&schema, "8055f790-e5cd-11f1-b81d-6d40b80d8da9");
    assert_eq!(table.name, "MixedCase");
    let columns = table.partition_key.iter().chain(&table.clustering);
    let names: Vec<_> = (columns.chain(&table.columns))
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["Key", "Cl üß", "V a\"l", "select", "漢"]);
}

#[test]
fn dropped_columns_and_namesakes_of_a_recorded_schema() {
    let Some(fixtures) = fixtures() else {
        return;
    };
    let schema = read(&fixtures.join("5.0/f11-schema-churn/schema.cql"));
    let churned = table(&schema, "483d7350-e5c9-11f1-998c-b39dc08f01bb");
    let dropped: Vec<_> = (churned.columns.iter())
        .filter_map(|c| Some((c.name.as_str(), c.dropped_at_us?)))
        .collect();
    assert_eq!(dropped, [("m", 1_795_278_812_117_000)]);
    assert!(
        churned
            .columns
            .iter()
            .any(|c| c.name == "w" && c.dropped_at_us.is_none())
    );
    let old = table(&schema, "4866a630-e5c9-11f1-998c-b39dc08f01bb");
    let new = table(&schema, "4d64e0c0-e5c9-11f1-998c-b39dc08f01bb");
    assert_eq!((&old.name, &new.name), (&"r".to_owned(), &"r".to_owned()));
    let reversed = |table: &Table| {
        table
            .clustering
            .iter()
            .map(|c| c.reversed)
            .collect::<Vec<_>>()
    };
    assert_eq!((reversed(&old), reversed(&new)), (vec![false], vec![true]));
}

#[test]
fn views_of_a_recorded_schema() {
    let Some(fixtures) = fixtures() else {
        return;
    };
    let schema = read(&fixtures.join("5.0/f10-views/schema.cql"));
    let view = |id: &str| {
        let table = table(&schema, id);
        assert_eq!(table.kind, TableKind::View);
        [table.partition_key, table.clustering, table.columns].map(|columns| {
            (columns.iter())
                .map(|c| format!("{} {:?} {}", c.name, c.cql_type, c.reversed))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(
        view("43d62190-e5c9-11f1-998c-b39dc08f01bb"),
        [
            vec!["v Int false"],
            vec!["p Int false", "k Int false"],
            vec!["w Text false"],
        ]
    );
    assert_eq!(
        view("4424b6c0-e5c9-11f1-998c-b39dc08f01bb"),
        [
            vec!["k Int false"],
            vec!["p Int true"],
            vec!["v Int false", "w Text false", "x Int false"],
        ]
    );
}
