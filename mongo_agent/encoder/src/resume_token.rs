//! Reads the content of resume tokens.
//!
//! A token is the hexadecimal text of a `KeyString` with the cluster time, the token's version and
//! kind, and the operation's index in its transaction. Servers before MongoDB 4.0.7 use a different
//! format, which is opaque here.

use crate::bson::{Document, Timestamp, Value};
use crate::error::Result;

const TIMESTAMP: u64 = 0x82;
/// Digits of a cluster time and its tag.
const TIME_DIGITS: usize = 18;

/// Returns the hexadecimal text of a token.
pub(crate) fn hex_of(token: Document<'_>) -> Result<Option<&[u8]>> {
    Ok(match token.find(b"_data")?.map(|data| data.value) {
        Some(Value::String(hex)) => Some(hex),
        _ => None,
    })
}

/// Returns the cluster time of a token.
pub(crate) fn time_of(hex: &[u8]) -> Option<Timestamp> {
    if number_of_hex(hex.get(..2)?)? != TIMESTAMP {
        return None;
    }
    let number = |digits: &[u8]| u32::try_from(number_of_hex(digits)?).ok();
    Some(Timestamp {
        seconds: number(hex.get(2..10)?)?,
        increment: number(hex.get(10..TIME_DIGITS)?)?,
    })
}

/// Returns the bytes that sort the tokens of a stream, or `None` for tokens that do not begin with
/// a cluster time, such as Amazon DocumentDB's.
pub(crate) fn sort_key_of(hex: &[u8]) -> Option<Vec<u8>> {
    time_of(hex)?;
    let (pairs, []) = hex.as_chunks::<2>() else {
        return None;
    };
    let byte = |pair: &[u8; 2]| u8::try_from(number_of_hex(pair)?).ok();
    pairs.iter().map(byte).collect()
}

/// Returns the index of an operation in its transaction.
///
/// A number consists of a tag for zero or a byte count, and of twice the number in that many bytes.
pub(crate) fn index_of(hex: &[u8]) -> Option<u64> {
    const ZERO: u64 = 0x29;
    const ONE_BYTE: u64 = 0x2b;
    const EIGHT_BYTES: u64 = 0x32;
    const VERSION_AND_KIND: [&[u8]; 2] = [b"2B022C0100", b"2B042C0100"];
    time_of(hex)?;
    let rest = hex.get(TIME_DIGITS..)?;
    let starts = |start: &&[u8]| {
        rest.get(..10)
            .is_some_and(|found| found.eq_ignore_ascii_case(start))
    };
    VERSION_AND_KIND.iter().find(|start| starts(start))?;
    let tag = number_of_hex(rest.get(10..12)?)?;
    match tag {
        ZERO => Some(0),
        ONE_BYTE..=EIGHT_BYTES => {
            let digits = usize::try_from(tag - ONE_BYTE + 1).ok()? * 2;
            Some(number_of_hex(rest.get(12..12 + digits)?)? >> 1)
        }
        _ => None,
    }
}

/// Parses at most sixteen digits.
fn number_of_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_indexes_are_read_from_tokens() {
        let time = "8263D2A4F600000001";
        let tail = "6E5A1004";
        for (middle, index) in [
            ("2B022C010029", Some(0)),
            ("2B042C010029", Some(0)),
            ("2B022C01002B02", Some(1)),
            ("2b022c01002bfe", Some(127)),
            ("2B022C01002C0100", Some(128)),
            ("2B042C01002D020000", Some(65536)),
            ("2B022929", None),
            ("46", None),
        ] {
            let token = format!("{time}{middle}{tail}");
            assert_eq!(index_of(token.as_bytes()), index, "{token}");
            let time = Timestamp {
                seconds: 0x63d2_a4f6,
                increment: 1,
            };
            assert_eq!(time_of(token.as_bytes()), Some(time));
        }
        assert_eq!(index_of(b"82"), None);
        assert_eq!(time_of(b"8363D2A4F600000001"), None);
        assert_eq!(index_of("é".repeat(40).as_bytes()), None);
    }
}
