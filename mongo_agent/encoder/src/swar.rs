//! Tests eight bytes at once, in one register.
//!
//! The high bit of each byte in a result states whether the byte matches. After the first match,
//! higher bytes may be false positives, because subtraction borrows.

const HIGH_BITS: u64 = repeat(0x80);

const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

#[inline]
fn bytes_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(repeat(limit)) & !word
}

#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    bytes_below(word ^ repeat(byte), 1)
}

/// Returns the index of the first zero byte. Fast for short text, such as the names of fields.
#[inline]
pub(crate) fn first_zero(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    let mut index = 0_usize;
    for word in words {
        let zeros = equal(u64::from_le_bytes(*word), 0) & HIGH_BITS;
        if zeros != 0 {
            return Some(index.saturating_add(zeros.trailing_zeros() as usize / 8));
        }
        index = index.saturating_add(8);
    }
    let rest = bytes.get(index..).unwrap_or_default();
    let place = rest.iter().position(|byte| *byte == 0)?;
    Some(index.saturating_add(place))
}

/// Whether all bytes are printable ASCII without quotes and backslashes.
#[inline]
pub(crate) fn is_plain_json(word: u64) -> bool {
    let controls = bytes_below(word, 0x20) | equal(word, 0x7f);
    let others = word | controls | equal(word, b'"') | equal(word, b'\\');
    others & HIGH_BITS == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn first_zero_is_found(
            bytes in proptest::collection::vec(0..=3_u8, 0..40),
            factor in any::<u8>(),
        ) {
            let bytes: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_mul(factor)).collect();
            prop_assert_eq!(first_zero(&bytes), bytes.iter().position(|byte| *byte == 0));
        }
    }
}
