//! Names of columns and fields as Avro takes them: a letter or an underscore, then letters, digits
//! and underscores.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_core::schema::{Column, Table};

/// What becomes of characters that Avro does not take in a name (`field.name.adjustment.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameAdjustment {
    /// They stay.
    #[default]
    None,
    /// An underscore; a digit in front gets one before it.
    Avro,
    /// `_uXXXX`, by their UTF-16 code; so an underscore is `_u005f`.
    AvroUnicode,
}

impl NameAdjustment {
    /// One name, as Debezium's `SchemaNameAdjuster` gives it for a field; the empty one, which
    /// columns of compact tables may have, is an underscore.
    pub fn adjusted(self, name: &str) -> String {
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
                _ => drop(write!(adjusted, "_u{unit:04x}")),
            }
        }
        if adjusted.is_empty() {
            adjusted.push('_');
        }
        adjusted
    }

    /// The names of one object, each in another way than all others. A name that is right as it is
    /// keeps it; of two that become one the later gets a mark of what it was.
    pub fn all_adjusted(self, names: &[&str]) -> Vec<String> {
        let mut taken: HashSet<String> = HashSet::new();
        let adjusted: Vec<_> = names.iter().map(|name| self.adjusted(name)).collect();
        let mut unique = vec![String::new(); names.len()];
        for keeps in [true, false] {
            let entries = names.iter().zip(&adjusted).zip(&mut unique);
            for ((name, adjusted), place) in entries {
                if (name == adjusted) != keeps {
                    continue;
                }
                *place = unique_name(adjusted, name, |other| !taken.contains(other));
                taken.insert(place.clone());
            }
        }
        unique
    }

    /// A table under adjusted names.
    pub fn shown(self, table: &Arc<Table>) -> Arc<Table> {
        if self == Self::None {
            return Arc::clone(table);
        }
        let mut shown = Table::clone(table);
        let mut names: Vec<String> = Vec::new();
        for column in columns_of(&mut shown) {
            // Versions of one column share its name.
            if !names.contains(&column.name) {
                names.push(column.name.clone());
            }
        }
        let originals: Vec<&str> = names.iter().map(String::as_str).collect();
        let adjusted = self.all_adjusted(&originals);
        for column in columns_of(&mut shown) {
            let place = names.iter().position(|name| *name == column.name);
            if let Some(name) = place.and_then(|place| adjusted.get(place)) {
                column.name.clone_from(name);
            }
            column.cql_type = self.shown_type(&column.cql_type);
        }
        Arc::new(shown)
    }

    fn shown_type(self, ty: &CqlType) -> CqlType {
        let inner = |ty: &CqlType| Box::new(self.shown_type(ty));
        match ty {
            CqlType::List(element) => CqlType::List(inner(element)),
            CqlType::Set(element) => CqlType::Set(inner(element)),
            CqlType::Map(key, value) => CqlType::Map(inner(key), inner(value)),
            CqlType::Vector(element, dimension) => CqlType::Vector(inner(element), *dimension),
            CqlType::Tuple(fields) => {
                CqlType::Tuple(fields.iter().map(|field| self.shown_type(field)).collect())
            }
            CqlType::Udt(user_type) => CqlType::Udt(Arc::new(self.shown_user_type(user_type))),
            _ => ty.clone(),
        }
    }

    fn shown_user_type(self, user_type: &UserType) -> UserType {
        let names: Vec<&str> = user_type.fields.iter().map(|f| f.name.as_str()).collect();
        let fields = user_type.fields.iter().zip(self.all_adjusted(&names));
        UserType {
            keyspace: user_type.keyspace.clone(),
            name: user_type.name.clone(),
            fields: fields
                .map(|(field, name)| UserTypeField {
                    name,
                    cql_type: self.shown_type(&field.cql_type),
                })
                .collect(),
        }
    }
}

/// A name for which `is_free` holds; `original` marks it where it is taken.
pub fn unique_name(name: &str, original: &str, is_free: impl Fn(&str) -> bool) -> String {
    if is_free(name) {
        return name.to_owned();
    }
    let hash = blake3::hash(original.as_bytes());
    let mut marked = name.to_owned();
    marked.push('_');
    for byte in hash.as_bytes() {
        let _ = write!(marked, "{byte:02x}");
        if marked.len() >= name.len() + 9 && is_free(&marked) {
            break;
        }
    }
    marked
}

fn columns_of(table: &mut Table) -> impl Iterator<Item = &mut Column> {
    let keys = table.partition_key.iter_mut().chain(&mut table.clustering);
    keys.chain(&mut table.columns)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_as_debezium_adjusts_them() {
        let cases = [
            ("plain_1", "plain_1", "plain_u005f1"),
            ("1st", "_1st", "_u0031st"),
            ("a-b", "a_b", "a_u002db"),
            ("naïve", "na_ve", "na_u00efve"),
            ("", "_", "_"),
        ];
        for (name, avro, unicode) in cases {
            assert_eq!(NameAdjustment::Avro.adjusted(name), avro);
            assert_eq!(NameAdjustment::AvroUnicode.adjusted(name), unicode);
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
        fn every_name_of_an_object_is_its_own(
            names in proptest::collection::hash_set("[-_a1ä ]{0,4}", 0..20),
            unicode: bool,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mode = if unicode { NameAdjustment::AvroUnicode } else { NameAdjustment::Avro };
            let adjusted = mode.all_adjusted(&names);
            prop_assert!(adjusted.iter().all(|name| is_avro_name(name)));
            let different: HashSet<_> = adjusted.iter().collect();
            prop_assert_eq!(different.len(), names.len());
        }
    }
}
