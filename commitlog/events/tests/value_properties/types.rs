//! Pairs of values of one type.

use commitlog_core::cql_type::CqlType;
use commitlog_events::byte_comparable::equals_differ;
use proptest::prelude::*;

use super::comparator::compare;
use super::keys::key_bytes;
use super::strategies::{SCALARS, cql_type, value};

fn encode(ty: &CqlType, reversed: bool, bytes: &[u8]) -> Vec<u8> {
    key_bytes(&[(ty.clone(), reversed)], &[Some(bytes.to_vec())])
}

fn check(ty: &CqlType, left: &[u8], right: &[u8]) -> Result<(), TestCaseError> {
    let expected = compare(ty, left, right);
    if !equals_differ(ty) {
        prop_assert_eq!(expected.is_eq(), left == right);
    }
    for reversed in [false, true] {
        let expected = if reversed {
            expected.reverse()
        } else {
            expected
        };
        let (left, right) = (encode(ty, reversed, left), encode(ty, reversed, right));
        prop_assert_eq!(left.cmp(&right), expected, "{:02x?} {:02x?}", left, right);
        if left != right {
            prop_assert!(!left.starts_with(&right) && !right.starts_with(&left));
        }
        for first in [left[0], right[0]] {
            prop_assert!(0x00 < first && first < 0xff);
        }
    }
    Ok(())
}

fn pair(ty: CqlType) -> impl Strategy<Value = (CqlType, Vec<u8>, Vec<u8>)> {
    (value(&ty), value(&ty)).prop_map(move |(left, right)| (ty.clone(), left, right))
}

/// A pair of values for every scalar type, so that each gets all the cases.
fn scalar_pairs() -> impl Strategy<Value = Vec<(CqlType, Vec<u8>, Vec<u8>)>> {
    SCALARS.map(|ty| pair(ty).boxed()).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn scalars_keep_their_order(pairs in scalar_pairs()) {
        for (ty, left, right) in pairs {
            check(&ty, &left, &right)?;
        }
    }

    #[test]
    fn any_type_keeps_its_order((ty, left, right) in cql_type().prop_flat_map(pair)) {
        check(&ty, &left, &right)?;
    }
}

#[test]
fn equal_numbers_have_equal_bytes() {
    // 1.0 and 1.00; 100 and 1E+2; 0 and 0.000.
    let cases: [(&[u8], &[u8]); 3] = [
        (&[0, 0, 0, 1, 10], &[0, 0, 0, 2, 100]),
        (&[0, 0, 0, 0, 100], &[0xff, 0xff, 0xff, 0xfe, 1]),
        (&[0, 0, 0, 0, 0], &[0, 0, 0, 3, 0]),
    ];
    for (left, right) in cases {
        let ty = &CqlType::Decimal;
        assert_eq!(encode(ty, false, left), encode(ty, false, right));
    }
    let nan = f64::from_bits(0xfff8_0000_0000_0001).to_be_bytes();
    assert_eq!(
        encode(&CqlType::Double, false, &nan),
        encode(&CqlType::Double, false, &f64::NAN.to_be_bytes())
    );
}

#[test]
fn long_integers_keep_their_order() {
    let lengths = [0x6f, 0x70, 0x71, 0x72, 300, 70_000];
    let mut numbers: Vec<Vec<u8>> = Vec::new();
    for length in lengths.into_iter().rev() {
        numbers.push([vec![0x80], vec![0; length - 1]].concat());
    }
    for length in lengths {
        numbers.push([vec![0x40], vec![0; length - 1]].concat());
    }
    for pair in numbers.windows(2) {
        let [smaller, larger] = [&pair[0], &pair[1]];
        check(&CqlType::VarInt, smaller, larger).unwrap();
        assert!(encode(&CqlType::VarInt, false, smaller) < encode(&CqlType::VarInt, false, larger));
    }
}

#[test]
fn long_decimals_keep_their_order() {
    // 7 × 10^40 written in full takes more than 16 bytes, 7E+40 takes one.
    let full: Vec<u8> = decimal_digits("7", 40);
    let neighbour: Vec<u8> = decimal_digits("70000000000000000000000000000000000000001", 0);
    let short = [&(-40_i32).to_be_bytes()[..], &[7]].concat();
    let ty = &CqlType::Decimal;
    assert_eq!(encode(ty, false, &full), encode(ty, false, &short));
    assert!(encode(ty, false, &short) < encode(ty, false, &neighbour));
    assert!(encode(ty, true, &short) > encode(ty, true, &neighbour));
}

/// A decimal of scale 0 with these digits, followed by this number of zeros.
fn decimal_digits(digits: &str, zeros: usize) -> Vec<u8> {
    let mut magnitude = vec![0_u8; 24];
    for digit in digits.bytes().chain(std::iter::repeat_n(b'0', zeros)) {
        let mut carry = u32::from(digit - b'0');
        for byte in magnitude.iter_mut().rev() {
            let sum = u32::from(*byte) * 10 + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
    }
    [vec![0; 4], magnitude].concat()
}
