//! Adjusts names for Avro: a letter or an underscore, then letters, digits and underscores.

use std::collections::HashSet;
use std::fmt::Write as _;

/// How to replace characters that Avro rejects in a name (`field.name.adjustment.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameAdjustment {
    /// Names stay as they are.
    #[default]
    None,
    /// Replaces them with an underscore, and adds an underscore before a leading digit.
    Avro,
    /// Replaces them with their UTF-16 code, `_uXXXX`; an underscore becomes `_u005f`.
    AvroUnicode,
}

impl NameAdjustment {
    /// Returns the adjustment for Avro schemas, which do not allow unadjusted names.
    #[must_use]
    pub fn for_avro(self) -> Self {
        match self {
            Self::None => Self::Avro,
            other => other,
        }
    }

    /// Adjusts the name of a field like Debezium's `SchemaNameAdjuster`. The empty name, a possible
    /// column of compact tables, becomes an underscore.
    pub fn adjust(self, name: &str) -> String {
        let mut adjusted = String::with_capacity(name.len());
        if self == Self::None {
            return name.to_owned();
        }
        for (index, unit) in name.encode_utf16().enumerate() {
            let ascii = u8::try_from(unit).ok().filter(u8::is_ascii).map(char::from);
            let is_digit = ascii.is_some_and(|c| c.is_ascii_digit());
            match (self, ascii) {
                (Self::Avro, Some(c)) if is_digit && index == 0 => {
                    adjusted.push('_');
                    adjusted.push(c);
                }
                (Self::Avro, Some(c)) if c == '_' || c.is_ascii_alphanumeric() => adjusted.push(c),
                (Self::Avro, _) => adjusted.push('_'),
                (_, Some(c)) if c.is_ascii_alphabetic() || is_digit && index > 0 => {
                    adjusted.push(c);
                }
                // Writing into a String cannot fail.
                // Debezium pads only one or two digits.
                _ if unit <= 0xff => drop(write!(adjusted, "_u00{unit:x}")),
                _ => drop(write!(adjusted, "_u{unit:x}")),
            }
        }
        if adjusted.is_empty() {
            adjusted.push('_');
        }
        adjusted
    }

    /// Adjusts the names of one object so that all differ. If names become equal, the oldest name
    /// stays, or the valid name if both are equally old. Other names get a hash of the original as
    /// suffix. Added names therefore never change existing names.
    pub fn adjust_unique(self, names: &[(&str, i64)]) -> Vec<String> {
        let mut taken: HashSet<String> = HashSet::new();
        let adjusted: Vec<_> = names.iter().map(|(name, _)| self.adjust(name)).collect();
        let mut unique = adjusted.clone();
        let mut entries: Vec<_> = names.iter().zip(&adjusted).zip(&mut unique).collect();
        entries.sort_by_key(|(((name, age), adjusted), _)| (*age, name != adjusted));
        for (((name, _), adjusted), slot) in entries {
            *slot = unique_name(adjusted, name, |other| !taken.contains(other));
            taken.insert(slot.clone());
        }
        unique
    }
}

/// Returns `name` if it is free, otherwise `name` with a hash of `original` as its suffix.
pub fn unique_name(name: &str, original: &str, is_free: impl Fn(&str) -> bool) -> String {
    if is_free(name) {
        return name.to_owned();
    }
    let hash = blake3::hash(original.as_bytes());
    let mut suffixed = name.to_owned();
    suffixed.push('_');
    for byte in hash.as_bytes() {
        let _ = write!(suffixed, "{byte:02x}");
        if suffixed.len() >= name.len() + 9 && is_free(&suffixed) {
            break;
        }
    }
    suffixed
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_adjusted_like_debezium() {
        let cases = [
            ("plain_1", "plain_1", "plain_u005f1"),
            ("1st", "_1st", "_u0031st"),
            ("a-b", "a_b", "a_u002db"),
            ("naïve", "na_ve", "na_u00efve"),
            ("γ\t店", "___", "_u3b3_u009_u5e97"),
            ("", "_", "_"),
        ];
        for (name, avro, unicode) in cases {
            assert_eq!(NameAdjustment::Avro.adjust(name), avro);
            assert_eq!(NameAdjustment::AvroUnicode.adjust(name), unicode);
        }
    }

    fn is_avro_name(name: &str) -> bool {
        let mut characters = name.chars();
        characters
            .next()
            .is_some_and(|c| c == '_' || c.is_ascii_alphabetic())
            && characters.all(|c| c == '_' || c.is_ascii_alphanumeric())
    }

    proptest! {
        #[test]
        fn adjusted_names_of_object_differ(
            names in proptest::collection::hash_set("[-_a1ä ]{0,4}", 0..20),
            unicode: bool,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mode = if unicode { NameAdjustment::AvroUnicode } else { NameAdjustment::Avro };
            let of_one_age: Vec<_> = names.iter().map(|name| (*name, 0)).collect();
            let adjusted = mode.adjust_unique(&of_one_age);
            prop_assert!(adjusted.iter().all(|name| is_avro_name(name)));
            let different: HashSet<_> = adjusted.iter().collect();
            prop_assert_eq!(different.len(), names.len());
        }

        /// Simulates statements that add one column each.
        #[test]
        fn name_stays_when_others_are_added(
            names in proptest::collection::hash_set("[-_.a1ä ]{0,4}", 1..20),
            unicode: bool,
        ) {
            let names: Vec<(&str, i64)> = names.iter().map(String::as_str).zip(1..).collect();
            let mode = if unicode { NameAdjustment::AvroUnicode } else { NameAdjustment::Avro };
            let all = mode.adjust_unique(&names);
            for count in 1..names.len() {
                let before = mode.adjust_unique(names.get(..count).unwrap());
                prop_assert_eq!(Some(before.as_slice()), all.get(..count));
            }
        }
    }
}
