/// The two lower-case digits of every byte.
const DIGITS: [[u8; 2]; 256] = {
    const ALPHABET: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    #[allow(clippy::indexing_slicing)] // Evaluated by the compiler, which checks the indices.
    while byte < 256 {
        table[byte] = [ALPHABET[byte >> 4], ALPHABET[byte & 15]];
        byte += 1;
    }
    table
};

fn digits(byte: u8) -> [u8; 2] {
    DIGITS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Appends two digits for each byte.
pub(super) fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().saturating_mul(2));
    for byte in bytes {
        out.extend_from_slice(&digits(*byte));
    }
}

/// Appends a UUID with its four hyphens.
pub(crate) fn write_uuid(out: &mut Vec<u8>, bytes: [u8; 16]) {
    out.reserve(36);
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&digits(byte));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_uuid_with_its_hyphens() {
        let mut out = Vec::new();
        write_uuid(
            &mut out,
            0x6ab0_9bec_e68e_48d9_a5f8_97e6_fb4c_9b47_u128.to_be_bytes(),
        );
        assert_eq!(out, b"6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47");
    }

    #[test]
    fn writes_two_digits_for_each_byte() {
        let mut out = Vec::new();
        write_hex(&mut out, &[0x00, 0x0f, 0xca, 0xfe]);
        assert_eq!(out, b"000fcafe");
    }
}
