use commitlog_core::cql_type::CqlType;

use super::{Result, ValueError};

/// Size of one shard of a counter context: counter id, clock, count.
const SHARD_BYTES: usize = 32;

/// Returns the sum of the counts of all shards (`CounterContext#total`, format notes §6.4).
///
/// A context is a 16-bit number of header entries, that many 16-bit entries, then the shards.
pub fn counter_total(bytes: &[u8]) -> Result<i64> {
    let expected = "2 + 2 for each header entry + 32 for each shard";
    let error = || ValueError::length(&CqlType::Counter, expected, bytes.len());
    let (entries, rest) = bytes.split_first_chunk().ok_or_else(error)?;
    let header = usize::from(i16::from_be_bytes(*entries).unsigned_abs()).saturating_mul(2);
    let (_, shards) = rest.split_at_checked(header).ok_or_else(error)?;
    let shards = shards.chunks_exact(SHARD_BYTES);
    if !shards.remainder().is_empty() {
        return Err(error());
    }
    Ok(shards
        .filter_map(|shard| shard.last_chunk())
        .fold(0, |total: i64, count| {
            total.wrapping_add(i64::from_be_bytes(*count))
        }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    fn shard(count: i64) -> Vec<u8> {
        let mut bytes = vec![7; 24];
        bytes.extend(count.to_be_bytes());
        bytes
    }

    #[test]
    fn counter_total_sums_shards() {
        let context = [vec![0, 1, 0x80, 0], shard(-5)].concat();
        assert_eq!(counter_total(&context), Ok(-5));
        let two = [vec![0, 2, 0x80, 0, 0x80, 1], shard(40), shard(2)].concat();
        assert_eq!(counter_total(&two), Ok(42));
        let cleared = [vec![0xff, 0xff, 0x80, 0], shard(9)].concat();
        assert_eq!(counter_total(&cleared), Ok(9));
        assert_eq!(counter_total(&[0, 0]), Ok(0));
    }

    #[test]
    fn invalid_context_is_rejected() {
        for bytes in [&[0][..], &[0, 1, 0x80], &[0, 0, 1]] {
            assert!(counter_total(bytes).is_err());
        }
    }
}
