//! Whole keys, with reversed columns and nulls, and the positions of bounds between them.

use std::cmp::Ordering;

use commitlog_events::byte_comparable::{Component, write_bound, write_clustering};
use proptest::collection::vec;
use proptest::prelude::*;

use super::comparator::{Column, Value, compare_keys};
use super::strategies::{cql_type, value};

fn components<'a>(columns: &'a [Column], key: &'a [Value]) -> impl Iterator<Item = Component<'a>> {
    let both = columns.iter().zip(key);
    both.map(|((ty, reversed), value)| Component {
        ty,
        reversed: *reversed,
        value: value.as_deref(),
    })
}

pub fn key_bytes(columns: &[Column], key: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    write_clustering(&mut out, components(columns, key)).unwrap();
    out
}

fn bound_bytes(columns: &[Column], prefix: &[Value], after: bool) -> Vec<u8> {
    let mut out = Vec::new();
    write_bound(&mut out, components(columns, prefix), after).unwrap();
    out
}

/// Columns and three keys; the later keys often share a beginning with the first.
fn table() -> impl Strategy<Value = (Vec<Column>, Vec<Vec<Value>>)> {
    vec((cql_type(), any::<bool>()), 1..4).prop_flat_map(|columns| {
        let key = columns
            .iter()
            .map(|(ty, _)| proptest::option::weighted(0.95, value(ty)).boxed())
            .collect::<Vec<_>>();
        let count = columns.len();
        let keys = (key.clone(), key.clone(), key, 0..=count, 0..=count).prop_map(
            |(first, mut second, mut third, shared, also_shared)| {
                second[..shared].clone_from_slice(&first[..shared]);
                third[..also_shared].clone_from_slice(&first[..also_shared]);
                vec![first, second, third]
            },
        );
        (Just(columns), keys)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn keys_keep_their_order((columns, keys) in table()) {
        for left in &keys {
            for right in &keys {
                let expected = compare_keys(&columns, left, right);
                let (left, right) = (key_bytes(&columns, left), key_bytes(&columns, right));
                prop_assert_eq!(left.cmp(&right), expected);
                prop_assert!(left == right || !left.starts_with(&right));
            }
        }
    }

    #[test]
    fn bound_lies_before_or_after_keys_with_prefix(
        (columns, keys) in table(),
        length in 0_usize..4,
        other_length in 0_usize..4,
    ) {
        let prefix = &keys[0][..length.min(columns.len())];
        let before = bound_bytes(&columns, prefix, false);
        let after = bound_bytes(&columns, prefix, true);
        prop_assert!(before < after);
        for key in &keys {
            let bytes = key_bytes(&columns, key);
            match compare_keys(&columns, key, prefix) {
                Ordering::Less => prop_assert!(bytes < before),
                Ordering::Equal => prop_assert!(before <= bytes && bytes < after),
                Ordering::Greater => prop_assert!(after <= bytes),
            }
        }
        // Compared with each other, bounds of another prefix lie entirely on one side, or inside.
        let other = &keys[1][..other_length.min(columns.len())];
        let other_before = bound_bytes(&columns, other, false);
        let other_after = bound_bytes(&columns, other, true);
        match compare_keys(&columns, prefix, other) {
            Ordering::Less => prop_assert!(after <= other_before),
            Ordering::Greater => prop_assert!(other_after <= before),
            Ordering::Equal if prefix.len() <= other.len() => {
                prop_assert!(before <= other_before && other_after <= after);
            }
            Ordering::Equal => prop_assert!(other_before <= before && after <= other_after),
        }
    }
}

#[test]
fn bounds_without_prefix_are_the_ends() {
    assert_eq!(bound_bytes(&[], &[], false), b"");
    assert_eq!(bound_bytes(&[], &[], true), b"\xff");
    assert_eq!(key_bytes(&[], &[]), b"");
}
