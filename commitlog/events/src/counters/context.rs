//! Counter contexts: the content of counter cells (`CounterContext`, format notes §6.4).

use commitlog_core::cql_type::CqlType;

use crate::value::{Result, ValueError};

/// Bytes of one shard: counter id, clock, count.
const SHARD_BYTES: usize = 32;

/// What the count of a shard means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardKind {
    /// A leader's running total; the larger clock wins. Releases since 2.1 write only this kind.
    Global,
    /// A difference to add up, written by releases before 2.1.
    Local,
    /// A total received from another node, written by releases before 2.1.
    Remote,
}

/// The count of one leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub counter_id: [u8; 16],
    pub clock: i64,
    pub count: i64,
    pub kind: ShardKind,
}

/// Reads the shards of a context: a leader writes one, a read repair may send several.
pub fn read_shards(context: &[u8]) -> Result<Vec<Shard>> {
    let expected = "2 + 2 for each header entry + 32 for each shard";
    let error = || ValueError::length(&CqlType::Counter, expected, context.len());
    let (entries, rest) = context.split_first_chunk().ok_or_else(error)?;
    // A negative entry count means that local shards are to be cleared; its magnitude is the count.
    let entries = usize::from(i16::from_be_bytes(*entries).unsigned_abs());
    let (header, shards) = rest.split_at_checked(entries * 2).ok_or_else(error)?;
    if shards.len() % SHARD_BYTES != 0 {
        return Err(error());
    }
    let kind = |index: usize| {
        let elements = header.chunks_exact(2).filter_map(|pair| pair.first_chunk());
        elements
            .map(|pair| i16::from_be_bytes(*pair))
            .find_map(|element| {
                // The index of a global shard is offset by the lowest 16-bit number.
                let place = usize::from(element.cast_unsigned() & 0x7fff);
                let kind = if element < 0 {
                    ShardKind::Global
                } else {
                    ShardKind::Local
                };
                (place == index).then_some(kind)
            })
            .unwrap_or(ShardKind::Remote)
    };
    let shards = shards.chunks_exact(SHARD_BYTES).enumerate();
    shards
        .map(|(index, bytes)| {
            let (counter_id, rest) = bytes.split_first_chunk().ok_or_else(error)?;
            let (clock, rest) = rest.split_first_chunk().ok_or_else(error)?;
            let count = rest.first_chunk().ok_or_else(error)?;
            Ok(Shard {
                counter_id: *counter_id,
                clock: i64::from_be_bytes(*clock),
                count: i64::from_be_bytes(*count),
                kind: kind(index),
            })
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::ShardKind::{Global, Local, Remote};
    use super::*;

    fn shard(id: u8, clock: i64, count: i64) -> Vec<u8> {
        [
            &[id; 16][..],
            &clock.to_be_bytes()[..],
            &count.to_be_bytes()[..],
        ]
        .concat()
    }

    #[test]
    fn context_of_leader_is_read() {
        let context = [&[0, 1, 0x80, 0][..], &shard(7, 1_795, -5)].concat();
        let expected = Shard {
            counter_id: [7; 16],
            clock: 1_795,
            count: -5,
            kind: ShardKind::Global,
        };
        assert_eq!(read_shards(&context), Ok(vec![expected]));
    }

    #[test]
    fn header_determines_shard_kinds() {
        let shards = [shard(1, 1, 1), shard(2, 2, 2), shard(3, 3, 3)].concat();
        let kinds = |header: &[u8]| {
            let context = [header, &shards].concat();
            let shards = read_shards(&context).unwrap();
            shards.iter().map(|shard| shard.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[0, 2, 0x80, 1, 0, 2]), [Remote, Global, Local]);
        assert_eq!(kinds(&[0xff, 0xff, 0x80, 0]), [Global, Remote, Remote]);
        assert_eq!(kinds(&[0, 0]), [Remote, Remote, Remote]);
    }

    #[test]
    fn invalid_context_is_rejected() {
        for bytes in [&[][..], &[0], &[0, 1, 0x80], &[0, 0, 1], &[0x80, 0]] {
            assert!(read_shards(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(read_shards(&[0, 0]), Ok(vec![]));
    }
}
