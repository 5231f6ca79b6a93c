//! Field names that Protobuf compilers accept within one message.

use std::collections::HashSet;

use event_encoding::avro_names::unique_name;

/// Makes the field names of one message distinct; each name has a sort key, with the oldest first.
/// Compilers reject names that differ only in case and underscores, such as `foo_bar` and `fooBar`.
/// Of two such names, the later one gets a hash as a suffix.
pub fn distinct(names: &[(&str, i64)], taken: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = taken.iter().map(|name| essence(name)).collect();
    let mut found = vec![String::new(); names.len()];
    let mut entries: Vec<_> = names.iter().zip(&mut found).collect();
    entries.sort_by_key(|((_, age), _)| *age);
    for ((name, _), slot) in entries {
        *slot = unique_name(name, name, |name| !taken.contains(&essence(name)));
        taken.insert(essence(slot));
    }
    found
}

fn essence(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nearly_equal_names_are_replaced() {
        let names = ["foo_bar", "fooBar", "a", "_", "__", "RangeStart"];
        let found = distinct(&names.map(|name| (name, 0)), &["_range_start"]);
        let kept: Vec<bool> = found
            .iter()
            .zip(names)
            .map(|(one, two)| one == two)
            .collect();
        assert_eq!(kept, [true, false, true, true, false, false]);
        let distinct: HashSet<_> = found.iter().map(|name| essence(name)).collect();
        assert_eq!(distinct.len(), names.len());
    }
}
