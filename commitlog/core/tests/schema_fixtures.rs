//! Every recorded `schema.cql` of real nodes, 3.11 to 5.0.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use commitlog_core::schema::{Schema, TableId, TableKind, parse_cql};

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
