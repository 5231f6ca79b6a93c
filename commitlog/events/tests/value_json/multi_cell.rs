use commitlog_events::value::ValueModes;
use commitlog_events::value::json::{ElementCell, write_multi_cell, write_removed};

use super::builders::{cql_type, hex};

/// A type, its cells, and three results: the value, the number of removed elements, and the removed
/// elements. A cell consists of its path, and its value or `-` for a removed element.
const CELLS: &str = r#"
list<text> | 50554d6f29bb11e5b345feff819cdc9f=61 50554d6e29bb11e5b345feff819cdc9f=- 50554d6e29bb11e5b345feff819cdc9f=62 | ["a","b"] | 1 | ["50554d6e-29bb-11e5-b345-feff819cdc9f"]
set<text> | 78=- 77= 79=- | ["w"] | 2 | ["x","y"]
list<text> |  | [] | 0 | []
map<text, int> | 6a=00000002 6b=- | {"j":2,"k":null} | 0 | []
map<date, time> | 80004d46=000029327b04bf79 | [[19782,45296789012345]] | 0 | []
addr | 0001=00000005 | {"zip":5} | 0 | []
addr | 0000=- 0001=00000005 | {"street":null,"zip":5} | 0 | []
"#;

/// The same with an error.
const MISFITS: &str = "
addr | 0002= | ks1.addr value: no field 2; the type has 2
addr | 00= | smallint value: 1 bytes; expected 2
int | = | int is not a multi-cell type
list<int> | =78 | int value: 1 bytes; expected 4
";

/// Path, value, and whether the element is removed.
fn parsed(cells: &str) -> Vec<(Vec<u8>, Vec<u8>, bool)> {
    let cells = cells
        .split_whitespace()
        .map(|cell| cell.split_once('=').unwrap());
    cells
        .map(|(path, value)| (hex(path), hex(value.trim_matches('-')), value == "-"))
        .collect()
}

fn cells(parsed: &[(Vec<u8>, Vec<u8>, bool)]) -> impl Iterator<Item = ElementCell<'_>> + Clone {
    parsed.iter().map(|(path, value, tombstone)| ElementCell {
        path,
        value,
        tombstone: *tombstone,
    })
}

#[test]
fn multi_cell_values_are_written() {
    let modes = ValueModes::default();
    for case in CELLS.trim_matches('\n').lines() {
        let [ty, given, value, count, gone] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let (ty, given) = (cql_type(ty), parsed(given));
        let (mut out, mut removed) = (Vec::new(), Vec::new());
        let found = write_multi_cell(&mut out, &ty, cells(&given), &modes).unwrap();
        write_removed(&mut removed, &ty, cells(&given), &modes).unwrap();
        let shown = [out, removed].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(shown, [value, gone]);
        assert_eq!(found.to_string(), count, "{case}");
    }
}

#[test]
fn malformed_cells_are_rejected() {
    let modes = ValueModes::default();
    let mut out = b"kept".to_vec();
    for case in MISFITS.trim().lines() {
        let [ty, given, expected] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let error =
            write_multi_cell(&mut out, &cql_type(ty), cells(&parsed(given)), &modes).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    write_removed(
        &mut out,
        &cql_type("list<int>"),
        cells(&parsed("00=-")),
        &modes,
    )
    .unwrap_err();
    assert_eq!(out, b"kept");
}
