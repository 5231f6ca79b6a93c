//! Every recorded `schema.cql` of real nodes, 3.11 to 5.0.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Schema, Table, TableId, TableKind, parse_cql};

/// The recordings of the repository.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn schema_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            schema_files(&path, found);
        } else if name == "schema.cql" {
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
    let mut outlines: BTreeMap<TableId, Outline> = BTreeMap::new();
    let mut id = None;
    let mut described = None;
    let mut declared = Vec::new();
    let mut outline = Outline::default();
    let mut in_columns = false;
    for line in text.lines() {
        if line.starts_with("CREATE TABLE") {
            (outline, id, in_columns) = (Outline::default(), None, true);
            declared.clear();
        } else if line.starts_with("CREATE MATERIALIZED VIEW") {
            (outline, id) = (Outline::default(), None);
            outline.view = true;
        } else if let Some((before, after)) = line.split_once("WITH ID = ") {
            in_columns = false;
            outline.columns += usize::from(before.contains("PRIMARY KEY ("));
            id = TableId::parse(after.trim());
        } else if in_columns {
            outline.columns += usize::from(!line.trim().starts_with("PRIMARY KEY"));
            declared.push(line.trim().trim_end_matches(','));
        }
        outline.cdc |= line.trim() == "AND cdc = true";
        // A column that returned is shown after its table; with another type it is one more.
        if let Some((_, added)) = line.split_once(" ADD ")
            && line.starts_with("ALTER TABLE")
            && !declared.contains(&added.trim_end_matches(';'))
            && let Some(altered) = described.and_then(|id| outlines.get_mut(&id))
        {
            altered.columns += 1;
        }
        if line.ends_with(';')
            && let Some(id) = id.take()
        {
            described = Some(id);
            outlines.insert(id, std::mem::take(&mut outline));
        }
    }
    outlines
}

#[test]
fn all_recorded_schemas_are_read() {
    let mut files = Vec::new();
    schema_files(&fixtures(), &mut files);
    assert!(files.len() >= 50, "{} schemas", files.len());
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
    let schema = read(&fixtures().join("5.0/types/schema.cql"));
    let table = table(&schema, "5c6d69c0-e5e2-11f1-bc65-c3e5585a0dd5");
    assert_eq!(table.columns.len(), 52);
    let column = |name: &str| table.columns.iter().find(|c| c.name == name).unwrap();
    let person = &column("r35").cql_type;
    let CqlType::Udt(user_type) = person else {
        panic!("{person:?}");
    };
    let fields: Vec<_> = (user_type.fields.iter()).map(|f| f.name.as_str()).collect();
    assert_eq!(fields, ["name", "home", "phones", "place"]);
    assert!(column("r35").multi_cell && !column("r36").multi_cell);
    assert_eq!(&column("r36").cql_type, person);
    let vectors = CqlType::Vector(Box::new(CqlType::Double), 2);
    assert_eq!(
        column("r41").cql_type,
        CqlType::Vector(Box::new(vectors), 2)
    );
}

#[test]
fn names_beyond_ascii_of_a_recorded_table() {
    let schema = read(&fixtures().join("5.0/types/schema.cql"));
    let table = table(&schema, "61bbe730-e5e2-11f1-bc65-c3e5585a0dd5");
    assert_eq!(table.name, "Mixed");
    let columns = table.partition_key.iter().chain(&table.clustering);
    let names: Vec<_> = (columns.chain(&table.columns))
        .map(|c| c.name.as_str())
        .collect();
    let expected = ["Key", "Cl üß", "GRÖSSE", "a \"b\" c", "select", "字", "S t"];
    assert_eq!(names, expected);
}

#[test]
fn views_of_a_recorded_schema() {
    let schema = read(&fixtures().join("5.0/views/schema.cql"));
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
        view("7eca6900-e5e2-11f1-bc65-c3e5585a0dd5"),
        [vec!["c Int false"], vec!["p Int true"], vec!["w Int false"]]
    );
    assert_eq!(
        view("7ea8d740-e5e2-11f1-bc65-c3e5585a0dd5"),
        [
            vec!["v Text false"],
            vec!["p Int false", "c Int false"],
            vec!["w Int false"],
        ]
    );
}
