//! Avro's binary encoding and the header that Confluent's serializers write before it.

/// Bytes before an Avro message: a zero byte and the schema id.
pub type ConfluentHeader = [u8; 5];

/// Returns the header for a schema id.
pub fn confluent_header(schema_id: u32) -> ConfluentHeader {
    let [a, b, c, d] = schema_id.to_be_bytes();
    [0, a, b, c, d]
}

/// Encodes a number in Avro's zigzag form, seven bits per byte, the lowest first. Returns the bytes
/// and their count.
#[inline]
pub fn varint(number: i64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut length = 0;
    for byte in &mut bytes {
        length += 1;
        if rest < 0x80 {
            *byte = rest as u8;
            break;
        }
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    (bytes, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confluent_header_contains_schema_id() {
        assert_eq!(confluent_header(0x0102_0304), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn numbers_of_both_signs_are_encoded() {
        // Examples from Avro's specification.
        for (number, expected) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (-64, &[0x7f]),
            (64, &[0x80, 1]),
        ] {
            let (bytes, length) = varint(number);
            assert_eq!(bytes.get(..length), Some(expected), "{number}");
        }
        assert_eq!(varint(i64::MIN).1, 10);
    }
}
