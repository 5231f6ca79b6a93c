//! BLAKE3 of many short messages, hashed side by side.
//!
//! One short message leaves most of a processor idle: each step of the hash waits for the one
//! before. Sixteen messages of one length take hardly longer than one.

use blake3::platform::Platform;
use blake3::{BLOCK_LEN, CHUNK_LEN, IncrementCounter, OUT_LEN};

/// As many as the widest vectors hold.
const LANES: usize = 16;
/// Longer messages are hashed one by one: of several chunks the library hashes those side by side.
const MOST_BLOCKS: usize = 2 * BLOCKS_OF_CHUNK;
const BLOCKS_OF_CHUNK: usize = CHUNK_LEN / BLOCK_LEN;

/// Flags of a compression (BLAKE3 specification, §2.2).
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 1 << 1;
const PARENT: u8 = 1 << 2;
const ROOT: u8 = 1 << 3;
/// What every chunk starts from (§2.2, table 1).
const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The first half of a hash.
pub type HalfHash = [u8; OUT_LEN / 2];

/// Messages that wait for others of their length.
pub struct ShortHashes {
    platform: Platform,
    /// By number of blocks less one.
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    /// The first chunks, of messages that have two.
    first_chunks: Vec<u8>,
    /// The messages, or what is behind their first chunks.
    messages: Vec<u8>,
    /// What the caller knows them by.
    numbers: Vec<usize>,
}

impl Default for ShortHashes {
    fn default() -> Self {
        let mut groups = Vec::new();
        groups.resize_with(MOST_BLOCKS, Group::default);
        Self {
            platform: Platform::detect(),
            groups,
        }
    }
}

impl ShortHashes {
    /// Takes a message, padded to whole blocks, whose hash `done` is told with its number at once
    /// or later.
    pub fn add(&mut self, message: &[u8], number: usize, mut done: impl FnMut(usize, HalfHash)) {
        let blocks = message.len() / BLOCK_LEN;
        let Some(group) = blocks
            .checked_sub(1)
            .and_then(|place| self.groups.get_mut(place))
        else {
            done(number, half(blake3::hash(message).as_bytes()));
            return;
        };
        let (first_chunk, rest) = if blocks > BLOCKS_OF_CHUNK {
            message.split_at(CHUNK_LEN)
        } else {
            message.split_at(0)
        };
        group.first_chunks.extend_from_slice(first_chunk);
        group.messages.extend_from_slice(rest);
        group.numbers.push(number);
        if group.numbers.len() == LANES {
            group.hash(self.platform, blocks, &mut done);
        }
    }

    /// Hashes what waits.
    pub fn finish(&mut self, mut done: impl FnMut(usize, HalfHash)) {
        for (place, group) in self.groups.iter_mut().enumerate() {
            if !group.numbers.is_empty() {
                group.hash(self.platform, place + 1, &mut done);
            }
        }
    }
}

impl Group {
    #[inline(never)]
    fn hash(&mut self, platform: Platform, blocks: usize, done: &mut impl FnMut(usize, HalfHash)) {
        let mut hashes = [[0; OUT_LEN]; LANES];
        if blocks <= BLOCKS_OF_CHUNK {
            let chunks = Chunks {
                number: 0,
                end: CHUNK_END | ROOT,
            };
            chunks.hash(platform, &self.messages, blocks, &mut hashes);
        } else {
            let (mut left, mut right) = ([[0; OUT_LEN]; LANES], [[0; OUT_LEN]; LANES]);
            let first = Chunks {
                number: 0,
                end: CHUNK_END,
            };
            first.hash(platform, &self.first_chunks, BLOCKS_OF_CHUNK, &mut left);
            let second = Chunks {
                number: 1,
                end: CHUNK_END,
            };
            let rest = blocks - BLOCKS_OF_CHUNK;
            second.hash(platform, &self.messages, rest, &mut right);
            let mut parents = [[0; BLOCK_LEN]; LANES];
            for (parent, pair) in parents.iter_mut().zip(left.iter().zip(&right)) {
                let (start, end) = parent.split_at_mut(OUT_LEN);
                start.copy_from_slice(pair.0);
                end.copy_from_slice(pair.1);
            }
            let count = self.numbers.len();
            let inputs = parents.each_ref();
            let inputs = inputs.get(..count).unwrap_or_default();
            let out = hashes.as_flattened_mut();
            let (no, flags) = (IncrementCounter::No, PARENT | ROOT);
            platform.hash_many(inputs, &IV, 0, no, flags, 0, 0, out);
        }
        for (number, hash) in self.numbers.iter().zip(&hashes) {
            done(*number, half(hash));
        }
        self.first_chunks.clear();
        self.messages.clear();
        self.numbers.clear();
    }
}

/// Chunks of one place in their messages.
#[derive(Clone, Copy)]
struct Chunks {
    number: u64,
    /// Flags of the last block.
    end: u8,
}

impl Chunks {
    fn hash(
        self,
        platform: Platform,
        bytes: &[u8],
        blocks: usize,
        out: &mut [[u8; OUT_LEN]; LANES],
    ) {
        match blocks {
            1 => self.hash_of::<64>(platform, bytes, out),
            2 => self.hash_of::<128>(platform, bytes, out),
            3 => self.hash_of::<192>(platform, bytes, out),
            4 => self.hash_of::<256>(platform, bytes, out),
            5 => self.hash_of::<320>(platform, bytes, out),
            6 => self.hash_of::<384>(platform, bytes, out),
            7 => self.hash_of::<448>(platform, bytes, out),
            8 => self.hash_of::<512>(platform, bytes, out),
            9 => self.hash_of::<576>(platform, bytes, out),
            10 => self.hash_of::<640>(platform, bytes, out),
            11 => self.hash_of::<704>(platform, bytes, out),
            12 => self.hash_of::<768>(platform, bytes, out),
            13 => self.hash_of::<832>(platform, bytes, out),
            14 => self.hash_of::<896>(platform, bytes, out),
            15 => self.hash_of::<960>(platform, bytes, out),
            _ => self.hash_of::<1024>(platform, bytes, out),
        }
    }

    /// Hashes chunks of `N` bytes each.
    fn hash_of<const N: usize>(
        self,
        platform: Platform,
        bytes: &[u8],
        out: &mut [[u8; OUT_LEN]; LANES],
    ) {
        let (chunks, _) = bytes.as_chunks::<N>();
        let mut inputs = [&[0; N]; LANES];
        for (input, chunk) in inputs.iter_mut().zip(chunks) {
            *input = chunk;
        }
        let inputs = inputs.get(..chunks.len()).unwrap_or_default();
        let no = IncrementCounter::No;
        let out = out.as_flattened_mut();
        platform.hash_many(inputs, &IV, self.number, no, 0, CHUNK_START, self.end, out);
    }
}

fn half(hash: &[u8; OUT_LEN]) -> HalfHash {
    let mut half = [0; OUT_LEN / 2];
    if let Some((first, _)) = hash.split_first_chunk() {
        half = *first;
    }
    half
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hashes(messages: &[Vec<u8>]) -> Vec<HalfHash> {
        let mut found = vec![[0; OUT_LEN / 2]; messages.len()];
        let mut hashes = ShortHashes::default();
        for (number, message) in messages.iter().enumerate() {
            hashes.add(message, number, |number, hash| found[number] = hash);
        }
        hashes.finish(|number, hash| found[number] = hash);
        found
    }

    fn expected(messages: &[Vec<u8>]) -> Vec<HalfHash> {
        let one = |message: &Vec<u8>| half(blake3::hash(message).as_bytes());
        messages.iter().map(one).collect()
    }

    #[test]
    fn every_length_in_every_number() {
        for blocks in 0..=MOST_BLOCKS + 2 {
            for count in [1, 2, 3, 8, 15, 16, 17, 40] {
                let messages: Vec<Vec<u8>> = (0..count)
                    .map(|number| {
                        let bytes = (0..blocks * BLOCK_LEN).map(|at| (at * 31 + number * 7) as u8);
                        bytes.collect()
                    })
                    .collect();
                assert_eq!(hashes(&messages), expected(&messages), "{blocks} {count}");
            }
        }
    }

    proptest! {
        #[test]
        fn lengths_mixed(lengths in proptest::collection::vec(1_usize..36, 0..200), seed: u8) {
            let messages: Vec<Vec<u8>> = lengths
                .iter()
                .enumerate()
                .map(|(number, blocks)| vec![seed ^ number as u8; blocks * BLOCK_LEN])
                .collect();
            prop_assert_eq!(hashes(&messages), expected(&messages));
        }
    }
}
