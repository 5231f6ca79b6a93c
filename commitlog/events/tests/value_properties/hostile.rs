//! Hostile bytes yield an error or a result, never a panic, and an error leaves no output.

use commitlog_core::cql_type::CqlType;
use commitlog_events::byte_comparable::{Component, write_bound, write_clustering};
use commitlog_events::value::json::{ElementCell, write_json, write_multi_cell, write_removed};
use commitlog_events::value::text::{write_json_text, write_text};
use commitlog_events::value::{ValueError, ValueModes};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::strategies::{cql_type, value};
use crate::value_json::builders::{PRECISE, STRING};

fn any_type() -> impl Strategy<Value = CqlType> {
    let others = vec![
        CqlType::Counter,
        CqlType::Custom("x.Y".to_owned()),
        CqlType::Duration,
        CqlType::Empty,
        CqlType::Vector(Box::new(CqlType::Empty), u32::MAX),
        CqlType::Vector(Box::new(CqlType::Duration), 2),
        CqlType::Vector(Box::new(CqlType::BigInt), u32::MAX),
    ];
    prop_oneof![4 => cql_type(), 1 => select(others)]
}

/// Random bytes, or a value that is truncated, lengthened or changed in one place.
fn damaged(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    let value = value(ty);
    let small = select(vec![0_u8, 1, 2, 4, 0x7f, 0x80, 0xff]);
    let random = vec(small.clone(), 0..40);
    let cut = (value.clone(), any::<prop::sample::Index>()).prop_map(|(mut bytes, choice)| {
        bytes.truncate(choice.index(bytes.len() + 1));
        bytes
    });
    let longer = (value.clone(), small.clone()).prop_map(|(mut bytes, byte)| {
        bytes.push(byte);
        bytes
    });
    let changed =
        (value, any::<prop::sample::Index>(), small).prop_map(|(mut bytes, choice, byte)| {
            if !bytes.is_empty() {
                let index = choice.index(bytes.len());
                bytes[index] = byte;
            }
            bytes
        });
    prop_oneof![random, cut, longer, changed].boxed()
}

/// Runs a writer on a non-empty buffer and returns the appended bytes.
fn appended<T>(
    write: impl FnOnce(&mut Vec<u8>) -> Result<T, ValueError>,
) -> Result<Option<Vec<u8>>, TestCaseError> {
    let mut out = b"kept".to_vec();
    if write(&mut out).is_err() {
        prop_assert_eq!(&out, b"kept");
        return Ok(None);
    }
    prop_assert!(out.starts_with(b"kept"));
    Ok(Some(out[4..].to_vec()))
}

fn check_json(json: Option<Vec<u8>>) -> Result<(), TestCaseError> {
    if let Some(json) = json {
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&json);
        prop_assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(&json));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn hostile_bytes_are_written_or_rejected(
        (ty, bytes) in any_type().prop_flat_map(|ty| (Just(ty.clone()), damaged(&ty))),
        reversed: bool,
    ) {
        for modes in [ValueModes::default(), PRECISE, STRING] {
            check_json(appended(|out| write_json(out, &ty, &bytes, &modes))?)?;
        }
        if let Some(text) = appended(|out| write_text(out, &ty, &bytes))? {
            prop_assert!(String::from_utf8(text).is_ok());
        }
        check_json(appended(|out| write_json_text(out, &ty, &bytes))?)?;
        let component = Component { ty: &ty, reversed, value: Some(&bytes) };
        appended(|out| write_clustering(out, [component]))?;
        appended(|out| write_bound(out, [component], true))?;
    }

    #[test]
    fn hostile_cells_are_written_or_rejected(
        (ty, cells) in any_type().prop_flat_map(|ty| {
            let cell = (damaged(&ty), damaged(&ty), any::<bool>());
            (Just(ty), vec(cell, 0..4))
        }),
    ) {
        let cells = cells.iter().map(|(path, value, tombstone)| ElementCell {
            path,
            value,
            tombstone: *tombstone,
        });
        for modes in [ValueModes::default(), PRECISE, STRING] {
            check_json(appended(|out| write_multi_cell(out, &ty, cells.clone(), &modes))?)?;
            check_json(appended(|out| write_removed(out, &ty, cells.clone(), &modes))?)?;
        }
    }
}
