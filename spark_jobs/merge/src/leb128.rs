//! LEB128 numbers: seven bits per byte, lowest bits first; signed numbers use zigzag encoding.

const MORE: u8 = 0x80;

pub fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub fn write_signed(bytes: &mut Vec<u8>, number: i64) {
    write(bytes, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Takes a number from the front. Returns `None` if it is incomplete or exceeds 64 bits.
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & !MORE);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
    }
    None
}

pub fn read_signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = read(bytes)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_written(numbers in prop::collection::vec(any::<i64>(), 0..5)) {
            let mut bytes = Vec::new();
            for number in &numbers {
                write(&mut bytes, number.cast_unsigned());
                write_signed(&mut bytes, *number);
            }
            let mut rest = &bytes[..];
            for number in &numbers {
                prop_assert_eq!(read(&mut rest), Some(number.cast_unsigned()));
                prop_assert_eq!(read_signed(&mut rest), Some(*number));
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn more_than_64_bits_are_rejected() {
        let mut largest = Vec::new();
        write(&mut largest, u64::MAX);
        assert_eq!(largest.len(), 10);
        assert_eq!(read(&mut &largest[..9]), None);
        *largest.last_mut().unwrap() = 2;
        assert_eq!(read(&mut &largest[..]), None);
        assert_eq!(read(&mut &[0x80; 11][..]), None);
    }
}
