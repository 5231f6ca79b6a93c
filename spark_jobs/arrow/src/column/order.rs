//! Sorts the elements of multi-cell columns in the order of `SELECT`.

use commitlog_core::cql_type::CqlType;
use commitlog_events::byte_comparable::{Component, write_clustering};
use commitlog_events::value::ValueError;

use crate::Element;

/// Sorts elements by their paths, compared as values of `path_type`. The sort is stable.
pub fn sort(elements: &mut [Element<'_>], path_type: &CqlType) -> Result<(), ValueError> {
    if elements.len() < 2 {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let mut keyed = Vec::with_capacity(elements.len());
    for element in elements.iter() {
        let start = bytes.len();
        let component = Component {
            ty: path_type,
            reversed: false,
            value: Some(element.path),
        };
        write_clustering(&mut bytes, [component])?;
        keyed.push((start..bytes.len(), *element));
    }
    let comparable = |range: &std::ops::Range<usize>| bytes.get(range.clone());
    if keyed.is_sorted_by_key(|(range, _)| comparable(range)) {
        return Ok(());
    }
    keyed.sort_by(|(a, _), (b, _)| comparable(a).cmp(&comparable(b)));
    for (place, (_, element)) in elements.iter_mut().zip(keyed) {
        *place = element;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sort_paths(path_type: &CqlType, paths: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut elements: Vec<_> = paths
            .iter()
            .map(|path| Element { path, value: None })
            .collect();
        sort(&mut elements, path_type).unwrap();
        elements.iter().map(|e| e.path.to_vec()).collect()
    }

    #[test]
    fn negative_numbers_sort_first() {
        let (minus_one, one) = ((-1_i32).to_be_bytes(), 1_i32.to_be_bytes());
        assert_eq!(
            sort_paths(&CqlType::Int, &[&one, &minus_one]),
            [minus_one, one]
        );
    }

    #[test]
    fn time_uuids_sort_by_time() {
        let mut later = [0; 16];
        later[5..7].copy_from_slice(&[1, 0x10]);
        let mut earlier = [0; 16];
        earlier[..7].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0x10]);
        assert_eq!(
            sort_paths(&CqlType::TimeUuid, &[&later, &earlier]),
            [earlier, later]
        );
    }

    #[test]
    fn invalid_path_is_rejected() {
        let mut elements = [Element {
            path: &[1],
            value: None,
        }; 2];
        assert!(sort(&mut elements, &CqlType::Int).is_err());
    }
}
