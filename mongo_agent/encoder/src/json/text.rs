//! Escapes JSON strings as Java's driver does.

use super::escaped::is_escaped;
use super::number::lower_hex;

/// Appends the content of a JSON string; inside a string of other JSON it is escaped twice. Invalid
/// UTF-8 becomes U+FFFD, as in Java.
#[inline]
pub fn write_escaped<const IN_STRING: bool>(out: &mut Vec<u8>, bytes: &[u8]) {
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        write_slowly::<IN_STRING>(out, bytes);
    }
}

/// Whether this is ASCII without escapes, as most text is.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let is_other =
        |byte: u8| byte.cast_signed() < 0x20 || byte == b'"' || byte == b'\\' || byte == 0x7f;
    // Without a branch for each byte, so that the compiler uses vectors.
    let is_plain_block = |block: &[u8]| {
        block
            .iter()
            .fold(0, |any, byte| any | u8::from(is_other(*byte)))
            == 0
    };
    let (blocks, rest) = bytes.as_chunks::<16>();
    blocks.iter().all(|block| is_plain_block(block)) && is_plain_block(rest)
}

fn write_slowly<const IN_STRING: bool>(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        write_valid::<IN_STRING>(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

fn write_valid<const IN_STRING: bool>(out: &mut Vec<u8>, text: &str) {
    let mut run = 0;
    for (at, character) in text.char_indices() {
        if !needs_escape(character) {
            continue;
        }
        out.extend_from_slice(text.get(run..at).unwrap_or_default().as_bytes());
        run = at.saturating_add(character.len_utf8());
        write_escape::<IN_STRING>(out, character);
    }
    out.extend_from_slice(text.get(run..).unwrap_or_default().as_bytes());
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
