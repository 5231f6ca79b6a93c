//! Splits partition keys into column values (`CompositeType`, format notes §6.3).

use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, ValueReader};

/// Appends the column values of a key. A single column is the whole key. A composite key stores a
/// 16-bit length, the value and a zero byte for each column.
pub fn split<'a>(
    columns: usize,
    key: &'a [u8],
    values: &mut Vec<Option<&'a [u8]>>,
) -> Result<(), ValueError> {
    if columns == 1 {
        values.push(Some(key));
        return Ok(());
    }
    // Errors report a blob because a composite key has no CQL type.
    let mut reader = ValueReader::new(&CqlType::Blob, key);
    for _ in 0..columns {
        let length = reader.read_bytes(2)?;
        let length = length
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte));
        values.push(Some(reader.read_bytes(length)?));
        reader.read_bytes(1)?;
    }
    reader.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn composite_key_is_split() {
        let mut values = Vec::new();
        split(2, &[0, 1, 7, 0, 0, 2, 8, 9, 0], &mut values).unwrap();
        assert_eq!(values, [Some(&[7][..]), Some(&[8, 9])]);
        values.clear();
        split(1, &[0, 1, 7], &mut values).unwrap();
        assert_eq!(values, [Some(&[0, 1, 7][..])]);
    }

    #[test]
    fn invalid_key_is_rejected() {
        for key in [
            &[][..],
            &[0, 1, 7, 0],
            &[0, 0, 0, 0, 0, 0, 0],
            &[0, 9, 7, 0],
        ] {
            assert!(split(2, key, &mut Vec::new()).is_err());
        }
    }
}
