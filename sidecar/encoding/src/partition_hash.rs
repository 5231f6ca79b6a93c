//! Kafka's murmur2, which chooses the partition of a key.

/// Returns Kafka's hash of a key (`Utils#murmur2`, `Utils#toPositive`) in 31 bits. The partition is
/// this hash modulo the number of partitions.
pub fn kafka_partition_hash(bytes: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ bytes.len() as u32;
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k = (k ^ k >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !tail.is_empty() {
        for (shift, byte) in tail.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * shift);
        }
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    (hash ^ hash >> 15) & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_kafka() {
        // Values from Kafka's own unit test (UtilsTest#testMurmur2), made positive.
        for (text, hash) in [
            ("21", -973_932_308_i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            (
                "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            ("abc", 479_470_107),
        ] {
            let positive = hash as u32 & 0x7fff_ffff;
            assert_eq!(kafka_partition_hash(text.as_bytes()), positive, "{text}");
        }
    }
}
