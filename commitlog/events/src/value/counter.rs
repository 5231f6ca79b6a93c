use commitlog_core::cql_type::CqlType;

use super::{Result, ValueError};

/// Size of one shard of a counter context: counter id, clock, count.
const SHARD_BYTES: usize = 32;

/// Splits a context into its header and its shards: a 16-bit number of header entries, that many
/// 16-bit entries, then the shards (`CounterContext`, format notes §6.4).
pub(crate) fn split_context(
    bytes: &[u8],
) -> Result<(&[u8], std::slice::Iter<'_, [u8; SHARD_BYTES]>)> {
    let expected = "2 + 2 for each header entry + 32 for each shard";
    let error = || ValueError::length(&CqlType::Counter, expected, bytes.len());
    let (entries, rest) = bytes.split_first_chunk().ok_or_else(error)?;
    // A negative entry count means that local shards are to be cleared; its magnitude is the count.
    let entries = usize::from(i16::from_be_bytes(*entries).unsigned_abs());
    let (header, shards) = rest.split_at_checked(entries * 2).ok_or_else(error)?;
    match shards.as_chunks() {
        (shards, []) => Ok((header, shards.iter())),
        _ => Err(error()),
    }
}

/// Returns the sum of the counts of all shards (`CounterContext#total`).
pub fn counter_total(bytes: &[u8]) -> Result<i64> {
    let (_, shards) = split_context(bytes)?;
    let counts = shards.filter_map(|shard| shard.last_chunk());
    Ok(counts.fold(0, |total: i64, count| {
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
