//! Escapes JSON strings as Java's driver does.

use super::escaped::is_escaped;
use super::number::lower_hex;
use crate::swar::is_plain_json;

/// Appends the content of a JSON string; `IN_STRING` escapes it twice, for JSON inside a string.
/// Invalid UTF-8 becomes U+FFFD, as in Java.
#[inline]
pub fn write_escaped<const IN_STRING: bool>(out: &mut Vec<u8>, bytes: &[u8]) {
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        write_slowly::<IN_STRING>(out, bytes);
    }
}

/// Whether these bytes are ASCII without escapes, like most text.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    // The last block overlaps the previous block, so that no byte is tested separately.
    if let Some(last) = bytes.last_chunk::<16>() {
        let (blocks, _) = bytes.as_chunks::<16>();
        blocks.iter().all(is_plain_block) && is_plain_block(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk()) {
        is_plain_json(u64::from_le_bytes(*first)) && is_plain_json(u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        is_plain_json(u64::from(first) | u64::from(last) << 32)
    } else {
        bytes.iter().all(|byte| !is_other(*byte))
    }
}

#[inline]
fn is_other(byte: u8) -> bool {
    byte.cast_signed() < 0x20 || byte == b'"' || byte == b'\\' || byte == 0x7f
}

/// Tests without a branch for each byte, so that the compiler uses vectors.
#[inline]
fn is_plain_block(block: &[u8; 16]) -> bool {
    block
        .iter()
        .fold(0, |found, byte| found | u8::from(is_other(*byte)))
        == 0
}

fn write_slowly<const IN_STRING: bool>(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        return write_valid::<IN_STRING>(out, text);
    }
    for chunk in bytes.utf8_chunks() {
        write_valid::<IN_STRING>(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

fn write_valid<const IN_STRING: bool>(out: &mut Vec<u8>, text: &str) {
    let (mut run, mut index) = (0, 0);
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(index) {
        if !is_other(*byte) {
            let rest = bytes.get(index..).and_then(<[u8]>::first_chunk);
            let is_plain = rest.is_some_and(|word| is_plain_json(u64::from_le_bytes(*word)));
            index = index.saturating_add(if is_plain { 8 } else { 1 });
            continue;
        }
        let character = text.get(index..).and_then(|rest| rest.chars().next());
        let character = character.unwrap_or_default();
        let next = index.saturating_add(character.len_utf8());
        if needs_escape(character) {
            out.extend_from_slice(bytes.get(run..index).unwrap_or_default());
            write_escape::<IN_STRING>(out, character);
            run = next;
        }
        index = next;
    }
    out.extend_from_slice(bytes.get(run..).unwrap_or_default());
}

fn needs_escape(character: char) -> bool {
    match character {
        '"' | '\\' => true,
        ' '..='~' => false,
        other => u16::try_from(u32::from(other)).map_or(true, is_escaped),
    }
}

fn write_escape<const IN_STRING: bool>(out: &mut Vec<u8>, character: char) {
    let short = match character {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                backslash::<IN_STRING>(out);
                out.push(b'u');
                let [high, low] = unit.to_be_bytes();
                out.extend_from_slice(&lower_hex(high));
                out.extend_from_slice(&lower_hex(low));
            }
            return;
        }
    };
    backslash::<IN_STRING>(out);
    if IN_STRING && (short == b'"' || short == b'\\') {
        out.push(b'\\');
    }
    out.push(short);
}

fn backslash<const IN_STRING: bool>(out: &mut Vec<u8>) {
    out.push(b'\\');
    if IN_STRING {
        out.push(b'\\');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn often_special() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![8 => b' '..=b'~', 1 => any::<u8>()];
        proptest::collection::vec(byte, 0..70)
    }

    proptest! {
        #[test]
        fn plain_text_has_only_plain_bytes(bytes in often_special()) {
            prop_assert_eq!(is_plain(&bytes), !bytes.iter().copied().any(is_other));
        }

        #[test]
        fn escaped_text_round_trips(bytes in often_special()) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (mut once, mut twice) = (vec![b'"'], vec![b'"']);
            write_escaped::<false>(&mut once, &bytes);
            once.push(b'"');
            prop_assert_eq!(&serde_json::from_slice::<String>(&once)?, &text);
            twice.extend_from_slice(b"\\\"");
            write_escaped::<true>(&mut twice, &bytes);
            twice.extend_from_slice(b"\\\"\"");
            let inner: String = serde_json::from_slice(&twice)?;
            prop_assert_eq!(&serde_json::from_str::<String>(&inner)?, &text);
        }
    }
}
