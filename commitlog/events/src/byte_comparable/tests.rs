use super::*;

fn key(components: &[Component<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    write_clustering(&mut out, components.iter().copied()).unwrap();
    out
}

#[test]
fn integer_is_encoded_in_both_orders() {
    let component = |reversed| Component {
        ty: &CqlType::Int,
        reversed,
        value: Some(&[0, 0, 0, 5]),
    };
    assert_eq!(key(&[component(false)]), [0x40, 0x80, 0, 0, 5]);
    assert_eq!(key(&[component(true)]), [0xbf, 0x7f, 0xff, 0xff, 0xfa]);
}
