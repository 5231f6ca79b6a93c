use commitlog_core::cql_type::CqlType;

use super::*;

#[test]
fn a_value_that_does_not_fit_leaves_the_buffer_alone() {
    let mut out = b"[".to_vec();
    let tuple = CqlType::Tuple(vec![CqlType::Int]);
    let bytes = [0, 0, 0, 3, 1, 2, 3];
    let error = write_json(&mut out, &tuple, &bytes, &ValueModes::default()).unwrap_err();
    assert_eq!(error.to_string(), "int value: 3 bytes where 4 are expected");
    assert_eq!(out, b"[");
}
