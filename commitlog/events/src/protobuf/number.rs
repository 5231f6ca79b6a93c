//! Field numbers of columns, which all agents compute identically without coordination.
//!
//! A Protobuf field number must never change or be reused. The number of a column is therefore a
//! hash of its name and its field type. An added column leaves the other numbers unchanged, unless
//! two hashes collide. A column that returns with a different type gets a different number, so that
//! one schema can read old and new events.

/// A column as a field of `after`.
#[derive(Debug, Clone)]
pub struct ProtobufField {
    /// Unique among the fields, even if a column was dropped and re-added with a different type.
    pub name: String,
    pub number: u32,
    /// The tag of the field in `after`.
    pub tag: Vec<u8>,
    /// Whether the message contains `removed` or `shards`.
    pub has_more: bool,
}

/// The first number of non-key columns. Lower numbers belong to key columns, by position, and to
/// ranges.
const FIRST: u32 = 2048;
/// Tags of lower numbers take at most four bytes.
const END: u32 = 1 << 25;
/// Numbers that Protobuf reserves.
const RESERVED: std::ops::RangeInclusive<u32> = 19_000..=19_999;

/// Assigns a number to each column, given by its name and field type.
pub fn numbers(columns: &[(String, String)]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|index| columns.get(*index));
    let mut taken = Vec::with_capacity(columns.len());
    let mut numbers = vec![0; columns.len()];
    for index in order {
        let (Some((name, field_type)), Some(slot)) = (columns.get(index), numbers.get_mut(index))
        else {
            continue;
        };
        let mut number = hash(name, field_type);
        while taken.contains(&number) || RESERVED.contains(&number) {
            number = if number + 1 < END { number + 1 } else { FIRST };
        }
        taken.push(number);
        *slot = number;
    }
    numbers
}

fn hash(name: &str, field_type: &str) -> u32 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes());
    hasher.update(b"\0");
    hasher.update(field_type.as_bytes());
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    FIRST + u32::from_be_bytes([a, b, c, d]) % (END - FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, field_type: &str) -> (String, String) {
        (name.to_owned(), field_type.to_owned())
    }

    #[test]
    fn field_numbers_never_change() {
        // Registered schemas contain these numbers.
        let columns = [column("amount", "Cell_int"), column("note", "Cell_text")];
        let found = numbers(&columns);
        assert_eq!(found, [27_893_112, 15_618_674]);
        let other = numbers(&[
            column("added", "Cell_int"),
            column("note", "Cell_text"),
            column("amount", "Cell_int"),
        ]);
        assert_eq!(found.first(), other.get(2));
        assert_eq!(found.get(1), other.get(1));
        assert_ne!(
            numbers(&[column("amount", "Cell_text")]).first(),
            found.first()
        );
    }

    #[test]
    fn many_columns_have_different_numbers_in_range() {
        let columns: Vec<_> = (0..5000)
            .map(|index| column(&format!("c{index}"), "Cell_int"))
            .collect();
        let mut found = numbers(&columns);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), columns.len());
        for number in found {
            assert!((FIRST..END).contains(&number) && !RESERVED.contains(&number));
        }
    }
}
