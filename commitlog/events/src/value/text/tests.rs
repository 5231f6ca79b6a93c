use super::*;

fn text(ty: &CqlType, bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write_text(&mut out, ty, bytes).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn an_empty_value_has_no_text() {
    for ty in [CqlType::Int, CqlType::Text, CqlType::Timestamp] {
        assert_eq!(text(&ty, b""), "");
    }
}
