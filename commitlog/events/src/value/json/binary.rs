use super::super::inet::write_host_address;
use super::Result;

/// Up to this number of bytes, a table is faster than the library.
pub const SHORT_BASE64: usize = 24;
/// Length of the quoted text of [`SHORT_BASE64`] bytes.
pub const SHORT_BASE64_TEXT: usize = SHORT_BASE64 / 3 * 4 + 2;

/// Appends a JSON string of padded base64 in the standard alphabet.
pub fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() > SHORT_BASE64 {
        out.push(b'"');
        base64_simd::STANDARD.encode_append(bytes, out);
        out.push(b'"');
        return;
    }
    let mut text = [0; SHORT_BASE64_TEXT];
    let length = place_short_base64(&mut text, bytes);
    out.extend_from_slice(text.get(..length).unwrap_or_default());
}

/// Writes the quoted base64 of at most [`SHORT_BASE64`] bytes at the start of a buffer; returns its
/// length.
#[inline]
pub fn place_short_base64(text: &mut [u8; SHORT_BASE64_TEXT], bytes: &[u8]) -> usize {
    let [open, rest @ ..] = text;
    *open = b'"';
    let (triples, tail) = bytes.as_chunks::<3>();
    let (quads, _) = rest.as_chunks_mut::<4>();
    for (quad, [a, b, c]) in quads.iter_mut().zip(triples) {
        *quad = of_triple(*a, *b, *c);
    }
    if let Some(quad) = quads.get_mut(triples.len()) {
        match tail {
            [a] => {
                let [first, second, ..] = of_triple(*a, 0, 0);
                *quad = [first, second, b'=', b'='];
            }
            [a, b] => {
                let [first, second, third, _] = of_triple(*a, *b, 0);
                *quad = [first, second, third, b'='];
            }
            _ => {}
        }
    }
    let length = bytes.len().div_ceil(3).wrapping_mul(4);
    if let Some(close) = rest.get_mut(length) {
        *close = b'"';
    }
    length.wrapping_add(2)
}

#[inline]
fn of_triple(a: u8, b: u8, c: u8) -> [u8; 4] {
    let bits = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    let [first, second] = pair_of(bits >> 12);
    let [third, fourth] = pair_of(bits & 0xfff);
    [first, second, third, fourth]
}

/// Returns the two digits of twelve bits.
#[inline]
fn pair_of(bits: u32) -> [u8; 2] {
    PAIRS.get(bits as usize).copied().unwrap_or_default()
}

static PAIRS: [[u8; 2]; 4096] = pairs();

#[allow(clippy::indexing_slicing, reason = "the compiler runs it")]
const fn pairs() -> [[u8; 2]; 4096] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut pairs = [[0; 2]; 4096];
    let mut bits = 0;
    while bits < pairs.len() {
        pairs[bits] = [DIGITS[bits >> 6], DIGITS[bits & 63]];
        bits += 1;
    }
    pairs
}

/// Appends `"/192.0.2.1"`, like Java's `InetAddress#toString` for an address without a host name.
pub(super) fn write_inet(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(b"\"/");
    if let Err(error) = write_host_address(out, bytes) {
        out.truncate(start);
        return Err(error);
    }
    out.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn base64_matches_library(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut out = Vec::new();
            write_base64(&mut out, &bytes);
            let text = base64_simd::STANDARD.encode_to_string(&bytes);
            prop_assert_eq!(String::from_utf8_lossy(&out), format!("\"{text}\""));
        }
    }
}
