//! Computes tokens with Cassandra's variant of Murmur3.

/// Returns the token of a partition key under `Murmur3Partitioner`: the first half of the 128-bit
/// Murmur3 hash. `MurmurHash#hash3_x64_128` deviates from the standard: tail bytes are signed.
pub fn token(key: &[u8]) -> i64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let (low, high) = block.split_at(8);
        h1 ^= mix1(signed_le(low));
        h1 = h1.rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(signed_le(high));
        h2 = h2.rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = tail.split_at(tail.len().min(8));
    if !high.is_empty() {
        h2 ^= mix2(signed_tail(high));
    }
    if !low.is_empty() {
        h1 ^= mix1(signed_tail(low));
    }
    let length = key.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    let token = h1.wrapping_add(h2) as i64;
    // The smallest token is the lower bound of the ring, and never the token of a key.
    if token == i64::MIN { i64::MAX } else { token }
}

fn signed_le(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Combines the bytes of an incomplete block, each sign-extended before it is shifted into place.
fn signed_tail(bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().fold(0, |word, (index, byte)| {
        word ^ ((i64::from(*byte as i8) as u64) << (8 * index))
    })
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

/// Converts a token to a position: an unsigned number with the same order.
pub fn position_of(token: i64) -> u64 {
    token.cast_unsigned() ^ (1 << 63)
}

/// Returns the token at a position.
pub fn token_of(position: u64) -> i64 {
    (position ^ (1 << 63)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_match_cassandra() {
        // Results of `SELECT token(…)` on a real node.
        assert_eq!(token(&1_i32.to_be_bytes()), -4_069_959_284_402_364_209);
        assert_eq!(token(&2_i32.to_be_bytes()), -3_248_873_570_005_575_792);
        assert_eq!(token(b""), 0);
    }
}
