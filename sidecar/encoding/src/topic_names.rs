//! Names of Kafka topics: letters, digits, `.`, `_` and `-`, at most [`LONGEST`].

use std::fmt::Write as _;

/// Maximum length of a topic name in Kafka.
pub const LONGEST: usize = 249;
const HASH_BYTES: usize = 8;

/// The delimiter between the parts of a topic name.
#[derive(Debug, Clone)]
pub struct Delimiter(pub String);

impl Default for Delimiter {
    fn default() -> Self {
        Self(".".to_owned())
    }
}

/// Replaces each UTF-16 code unit that Kafka rejects with `_`, like Debezium. The result may be too
/// long.
pub fn replace(name: &str) -> impl Iterator<Item = char> {
    name.encode_utf16()
        .map(|unit| match u8::try_from(unit).map(char::from) {
            Ok(c) if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => c,
            _ => '_',
        })
}

/// Returns `<prefix>.<keyspace>.<table>`. A name that is too long ends with a hash of keyspace and
/// table, so it does not depend on other tables.
#[must_use]
pub fn table_topic(prefix: &str, delimiter: &Delimiter, keyspace: &str, table: &str) -> String {
    let mut name: String = replace(&[prefix, keyspace, table].join(&delimiter.0)).collect();
    if name.len() > LONGEST {
        name.truncate(LONGEST - 1 - 2 * HASH_BYTES);
        name.push('-');
        let hash = blake3::hash(format!("{keyspace}.{table}").as_bytes());
        for byte in hash.as_bytes().iter().take(HASH_BYTES) {
            // Writing into a String cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Keyspace names have up to 48 characters, table names up to 222.
        #[test]
        fn table_topics_are_legal_and_differ(
            tables in proptest::collection::hash_set(("[a-bA_]{1,2}|[a_]{40,48}", "[a-bA_]{1,2}|[a_]{199,222}"), 2..20),
            prefix in "[a-z.]{1,20}|[a-z]{200,245}",
            has_dash: bool,
        ) {
            let delimiter = Delimiter(if has_dash { "-" } else { "." }.to_owned());
            let topic = |(keyspace, table): &(String, String)| {
                table_topic(&prefix, &delimiter, keyspace, table)
            };
            let names: HashSet<_> = tables.iter().map(topic).collect();
            prop_assert_eq!(names.len(), tables.len());
            for name in &names {
                let shown: String = prefix.chars().take(200).collect();
                prop_assert!(name.len() <= LONGEST && name.starts_with(&shown));
            }
            if has_dash {
                // Kafka rejects a topic that equals another topic with `_` instead of `.`.
                let collide: HashSet<_> = names.iter().map(|name| name.replace('.', "_")).collect();
                prop_assert_eq!(collide.len(), tables.len());
            }
        }

        #[test]
        fn any_text_becomes_legal_topic(keyspace: String, table: String) {
            let name = table_topic("p", &Delimiter::default(), &keyspace, &table);
            let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            prop_assert!(name.chars().all(is_legal) && name.len() <= LONGEST);
        }
    }
}
