/// Bytes checked together before a run is searched byte by byte.
const BLOCK: usize = 32;

/// Appends a JSON string of UTF-8 bytes, with the quotes.
///
/// Invalid UTF-8 becomes U+FFFD: the server rejects it, and an event that cannot be parsed would
/// be worse. The event's `cells` contains the raw bytes.
pub fn write_string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().saturating_add(2));
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else if std::str::from_utf8(bytes).is_ok() {
        write_escaped(out, bytes);
    } else {
        for chunk in bytes.utf8_chunks() {
            write_escaped(out, chunk.valid().as_bytes());
            if !chunk.invalid().is_empty() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, mut run: &[u8]) {
    while let Some(index) = position_of_special(run) {
        let Some((plain, [special, rest @ ..])) = run.split_at_checked(index) else {
            break;
        };
        out.extend_from_slice(plain);
        write_escape(out, *special);
        run = rest;
    }
    out.extend_from_slice(run);
}

/// Returns whether the bytes are ASCII that needs no escape, as most text is. Checking some bytes
/// twice is cheaper than checking them one at a time.
pub fn is_plain(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<LARGE_BLOCK>() {
        let (blocks, _) = bytes.as_chunks::<LARGE_BLOCK>();
        is_plain_block(last) && blocks.iter().all(is_plain_block)
    } else if let Some(last) = bytes.last_chunk::<SMALL_BLOCK>() {
        let (blocks, _) = bytes.as_chunks::<SMALL_BLOCK>();
        is_plain_block(last) && blocks.iter().all(is_plain_block)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        is_plain_word(u64::from_le_bytes(*first)) && is_plain_word(u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        is_plain_word(u64::from(first) << 32 | u64::from(last))
    } else {
        bytes
            .iter()
            .all(|byte| !is_special(*byte) && byte.is_ascii())
    }
}

/// One vector, and several vectors checked before the first branch.
const SMALL_BLOCK: usize = 16;
const LARGE_BLOCK: usize = 128;

/// Checks many bytes at once: without a branch for each byte, the compiler vectorises the loop.
#[inline]
fn is_plain_block<const N: usize>(block: &[u8; N]) -> bool {
    // As signed numbers, non-ASCII bytes are below the control characters.
    let is_other = |byte: u8| byte.cast_signed() < 0x20 || byte == b'"' || byte == b'\\';
    let others = |others: u8, byte: &u8| others | u8::from(is_other(*byte));
    block.iter().fold(0, others) == 0
}

/// Checks eight bytes at once; the high bit of a byte marks that it is not plain. A byte after such
/// a byte may be misjudged, which does not change the result.
#[inline]
fn is_plain_word(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    let is_quote = is_zero(word ^ (ONES * u64::from(b'"')));
    let is_backslash = is_zero(word ^ (ONES * u64::from(b'\\')));
    (word | is_control | is_quote | is_backslash) & HIGH == 0
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn position_of_special(run: &[u8]) -> Option<usize> {
    let mut blocks = run.chunks(BLOCK);
    // Without a branch for each byte, the compiler vectorises the loop.
    let plain_blocks = blocks
        .by_ref()
        .take_while(|block| {
            !block
                .iter()
                .fold(false, |found, byte| found | is_special(*byte))
        })
        .count();
    let start = plain_blocks.saturating_mul(BLOCK).min(run.len());
    let (_, rest) = run.split_at_checked(start)?;
    let offset = rest.iter().position(|byte| is_special(*byte))?;
    Some(start.saturating_add(offset))
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => br#"\""#,
        b'\\' => br"\\",
        b'\n' => br"\n",
        b'\r' => br"\r",
        b'\t' => br"\t",
        0x08 => br"\b",
        0x0c => br"\f",
        _ => {
            out.extend_from_slice(br"\u00");
            super::super::hex::write_hex(out, &[byte]);
            return;
        }
    };
    out.extend_from_slice(short);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn string(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        write_string(&mut out, bytes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn required_characters_are_escaped() {
        assert_eq!(string(b""), r#""""#);
        assert_eq!(string("h\u{e9}llo".as_bytes()), "\"h\u{e9}llo\"");
        assert_eq!(
            string(b"a\"b\\c\nd\re\tf\x08g\x0ch\x00i\x1fj\x7f"),
            "\"a\\\"b\\\\c\\nd\\re\\tf\\bg\\fh\\u0000i\\u001fj\x7f\""
        );
    }

    #[test]
    fn invalid_utf8_becomes_the_replacement_character() {
        assert_eq!(string(b"a\xffb\xc3"), "\"a\u{fffd}b\u{fffd}\"");
        assert_eq!(string(b"\xed\xa0\x80\"").matches('\u{fffd}').count(), 3);
    }

    proptest! {
        #[test]
        fn plain_text_needs_no_escape(
            plain in "[ !#-Z^-~]{0,40}",
            other: u8,
            place: prop::sample::Index,
            is_changed: bool,
        ) {
            let mut bytes = plain.into_bytes();
            if is_changed && !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = other;
            }
            let expected = bytes.iter().all(|byte| !is_special(*byte) && byte.is_ascii());
            prop_assert_eq!(is_plain(&bytes), expected);
        }

        #[test]
        fn strings_round_trip(text in "(?s).{0,200}") {
            let read: String = serde_json::from_str(&string(text.as_bytes())).unwrap();
            prop_assert_eq!(read, text);
        }

        #[test]
        fn arbitrary_bytes_become_json(bytes: Vec<u8>) {
            let read: String = serde_json::from_str(&string(&bytes)).unwrap();
            prop_assert_eq!(read, String::from_utf8_lossy(&bytes));
        }
    }
}
