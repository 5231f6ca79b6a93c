use commitlog_core::cql_type::CqlType;
use commitlog_events::value::ValueModes;
use commitlog_events::value::json::{ElementCell, write_multi_cell, write_removed};

use crate::builders::{address, hex, int, list, map, set};

fn cell<'a>(path: &'a [u8], value: &'a [u8]) -> ElementCell<'a> {
    ElementCell {
        path,
        value,
        tombstone: false,
    }
}

fn removed(path: &[u8]) -> ElementCell<'_> {
    ElementCell {
        path,
        value: b"",
        tombstone: true,
    }
}

/// What the cells give, the number of removed elements, and what those are.
fn multi_cell(ty: &CqlType, cells: &[ElementCell<'_>]) -> (String, usize, String) {
    let modes = ValueModes::default();
    let mut out = Vec::new();
    let count = write_multi_cell(&mut out, ty, cells.iter().copied(), &modes).unwrap();
    let mut gone = Vec::new();
    write_removed(&mut gone, ty, cells.iter().copied(), &modes).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), count, text(gone))
}

#[test]
fn cells_of_lists_and_sets() {
    let first = hex("50554d6e29bb11e5b345feff819cdc9f");
    let second = hex("50554d6f29bb11e5b345feff819cdc9f");
    let ty = list(CqlType::Text);
    let cells = [cell(&second, b"a"), removed(&first), cell(&first, b"b")];
    assert_eq!(
        multi_cell(&ty, &cells),
        (
            r#"["a","b"]"#.to_owned(),
            1,
            r#"["50554d6e-29bb-11e5-b345-feff819cdc9f"]"#.to_owned()
        )
    );
    let cells = [removed(b"x"), cell(b"w", b""), removed(b"y")];
    assert_eq!(
        multi_cell(&set(CqlType::Text), &cells),
        (r#"["w"]"#.to_owned(), 2, r#"["x","y"]"#.to_owned())
    );
    assert_eq!(multi_cell(&ty, &[]), ("[]".to_owned(), 0, "[]".to_owned()));
}

#[test]
fn cells_of_maps_and_user_types() {
    let (two, five) = (int(2), int(5));
    let cells = [cell(b"j", &two), removed(b"k")];
    assert_eq!(
        multi_cell(&map(CqlType::Text, CqlType::Int), &cells),
        (r#"{"j":2,"k":null}"#.to_owned(), 0, "[]".to_owned())
    );
    let day = hex("80004d46");
    let time = hex("000029327b04bf79");
    assert_eq!(
        multi_cell(&map(CqlType::Date, CqlType::Time), &[cell(&day, &time)]).0,
        "[[19782,45296789012345]]"
    );
    let cells = [cell(&[0, 1], &five)];
    assert_eq!(multi_cell(&address(), &cells).0, r#"{"zip":5}"#);
    let cells = [removed(&[0, 0]), cell(&[0, 1], &five)];
    assert_eq!(
        multi_cell(&address(), &cells),
        (r#"{"street":null,"zip":5}"#.to_owned(), 0, "[]".to_owned())
    );
}

#[test]
fn cells_that_do_not_fit_their_column() {
    let modes = ValueModes::default();
    let cases = [
        (
            address(),
            cell(&[0, 2], b""),
            "ks1.addr value: no field 2; the type has 2",
        ),
        (
            address(),
            cell(&[0], b""),
            "smallint value: 1 bytes; expected 2",
        ),
        (CqlType::Int, cell(b"", b""), "int is not a multi-cell type"),
        (
            list(CqlType::Int),
            cell(b"", b"x"),
            "int value: 1 bytes; expected 4",
        ),
    ];
    for (ty, cell, expected) in cases {
        let mut out = b"kept".to_vec();
        let error = write_multi_cell(&mut out, &ty, [cell], &modes).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, b"kept");
    }
    let mut out = b"kept".to_vec();
    let cells = [removed(b"short")];
    write_removed(&mut out, &list(CqlType::Int), cells, &modes).unwrap_err();
    assert_eq!(out, b"kept");
}
