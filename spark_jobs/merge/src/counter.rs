//! Counter contexts (`CounterContext`), which contain a total for each leader.

const ID_BYTES: usize = 16;
const SHARD_BYTES: usize = 32;

/// The total of one leader. A leader's newest shard has the largest clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub counter_id: [u8; ID_BYTES],
    pub clock: i64,
    pub count: [u8; 8],
}

/// Reads the shards in the value of a counter cell. Returns `None` if it is invalid, or contains
/// shards from releases before 2.1, which are differences instead of totals.
pub fn read_shards(context: &[u8]) -> Option<impl Iterator<Item = Shard>> {
    let (entries, rest) = context.split_first_chunk::<2>()?;
    let entries = usize::from(u16::from_be_bytes(*entries));
    // The header contains an index for each shard; for a total, the lowest 16-bit number is added.
    let (header, shards) = rest.split_at_checked(entries.checked_mul(2)?)?;
    let are_totals = header
        .chunks_exact(2)
        .all(|element| element.first().is_some_and(|high| *high >= 0x80));
    if shards.len() != entries.checked_mul(SHARD_BYTES)? || !are_totals {
        return None;
    }
    Some(shards.chunks_exact(SHARD_BYTES).filter_map(|shard| {
        let (counter_id, rest) = shard.split_first_chunk::<ID_BYTES>()?;
        let (clock, count) = rest.split_first_chunk::<8>()?;
        Some(Shard {
            counter_id: *counter_id,
            clock: i64::from_be_bytes(*clock),
            count: *count.first_chunk()?,
        })
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counter_shards_are_read() {
        let shard = [&[7; 16][..], &9_i64.to_be_bytes(), &(-5_i64).to_be_bytes()].concat();
        let context = [&[0, 1, 0x80, 0][..], &shard].concat();
        let expected = Shard {
            counter_id: [7; 16],
            clock: 9,
            count: (-5_i64).to_be_bytes(),
        };
        assert_eq!(
            read_shards(&context).unwrap().collect::<Vec<_>>(),
            [expected]
        );
        assert_eq!(read_shards(&[0, 0]).unwrap().count(), 0);
    }

    #[test]
    fn malformed_local_and_remote_contexts_are_rejected() {
        let local = [&[0, 1, 0, 0][..], &[0; 32]].concat();
        let remote = [&[0, 0][..], &[0; 32]].concat();
        for context in [&[][..], &[0], &[0, 1, 0x80], &local, &remote] {
            assert!(read_shards(context).is_none(), "{context:?}");
        }
    }
}
