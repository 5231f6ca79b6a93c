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

/// Bytes of waiting messages from which on none waits any longer.
const MOST_BYTES: usize = 256 << 10;

/// Messages that wait for others of their length.
pub struct ShortHashes {
    platform: Platform,
    /// The messages, and room for more.
    bytes: Vec<u8>,
    /// Where the room begins.
    end: usize,
    waiting: usize,
    /// By number of blocks less one.
    groups: Vec<Group>,
}

/// Messages of one length.
#[derive(Default)]
struct Group {
    /// Where each starts.
    starts: Vec<usize>,
    /// What the caller knows them by.
    numbers: Vec<usize>,
}

impl Default for ShortHashes {
    fn default() -> Self {
        let mut groups = Vec::new();
        groups.resize_with(MOST_BLOCKS, Group::default);
        Self {
            platform: Platform::detect(),
            bytes: Vec::new(),
            end: 0,
            waiting: 0,
            groups,
        }
    }
}

impl ShortHashes {
    /// Where the next message goes.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Makes room for so many bytes.
    pub fn make_room(&mut self, bytes: usize) {
        let needed = self.end.saturating_add(bytes);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }

    /// Takes a message of whole blocks that stands elsewhere; as [`Self::add`].
    pub fn add_copy(&mut self, message: &[u8], number: usize, done: impl FnMut(usize, HalfHash)) {
        self.make_room(message.len());
        if let Some(room) = self.room().get_mut(..message.len()) {
            room.copy_from_slice(message);
        }
        self.add(message.len() / BLOCK_LEN, number, done);
    }

    /// Takes the message that was written to [`Self::room`], of so many whole blocks, whose hash
    /// `done` is told with its number at once or later.
    #[inline]
    pub fn add(&mut self, blocks: usize, number: usize, mut done: impl FnMut(usize, HalfHash)) {
        let group = blocks.wrapping_sub(1);
        let Some(group) = self.groups.get_mut(group) else {
            let message = self.bytes.get(self.end..).unwrap_or_default();
            let message = message.get(..blocks.saturating_mul(BLOCK_LEN));
            let hash = blake3::hash(message.unwrap_or_default());
            done(number, half(hash.as_bytes()));
            return;
        };
        group.starts.push(self.end);
        group.numbers.push(number);
        self.end += blocks * BLOCK_LEN;
        self.waiting += 1;
        if group.numbers.len() == LANES {
            self.waiting -= LANES;
            group.hash(self.platform, &self.bytes, blocks, &mut done);
        }
        if self.waiting == 0 {
            self.end = 0;
        } else if self.end > MOST_BYTES {
            self.finish(done);
        }
    }

    /// Hashes what waits.
    pub fn finish(&mut self, mut done: impl FnMut(usize, HalfHash)) {
        for (place, group) in self.groups.iter_mut().enumerate() {
            if !group.numbers.is_empty() {
                group.hash(self.platform, &self.bytes, place + 1, &mut done);
            }
        }
        (self.waiting, self.end) = (0, 0);
    }
}

impl Group {
    #[inline(never)]
    fn hash(
        &mut self,
        platform: Platform,
        bytes: &[u8],
        blocks: usize,
        done: &mut impl FnMut(usize, HalfHash),
    ) {
        let mut hashes = [[0; OUT_LEN]; LANES];
        let starts = &self.starts;
        if blocks <= BLOCKS_OF_CHUNK {
            let chunks = Chunks {
                number: 0,
                end: CHUNK_END | ROOT,
            };
            chunks.hash(platform, bytes, starts, blocks, &mut hashes);
        } else {
            let (mut left, mut right) = ([[0; OUT_LEN]; LANES], [[0; OUT_LEN]; LANES]);
            let first = Chunks {
                number: 0,
                end: CHUNK_END,
            };
            first.hash(platform, bytes, starts, BLOCKS_OF_CHUNK, &mut left);
            let second = Chunks {
                number: 1,
                end: CHUNK_END,
            };
            let rest = bytes.get(CHUNK_LEN..).unwrap_or_default();
            let blocks = blocks - BLOCKS_OF_CHUNK;
            second.hash(platform, rest, starts, blocks, &mut right);
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
        self.starts.clear();
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
    /// Hashes a chunk of so many blocks at each of the `starts`.
    fn hash(
        self,
        platform: Platform,
        bytes: &[u8],
        starts: &[usize],
        blocks: usize,
        out: &mut [[u8; OUT_LEN]; LANES],
    ) {
        match blocks {
            1 => self.hash_of::<64>(platform, bytes, starts, out),
            2 => self.hash_of::<128>(platform, bytes, starts, out),
            3 => self.hash_of::<192>(platform, bytes, starts, out),
            4 => self.hash_of::<256>(platform, bytes, starts, out),
            5 => self.hash_of::<320>(platform, bytes, starts, out),
            6 => self.hash_of::<384>(platform, bytes, starts, out),
            7 => self.hash_of::<448>(platform, bytes, starts, out),
            8 => self.hash_of::<512>(platform, bytes, starts, out),
            9 => self.hash_of::<576>(platform, bytes, starts, out),
            10 => self.hash_of::<640>(platform, bytes, starts, out),
            11 => self.hash_of::<704>(platform, bytes, starts, out),
            12 => self.hash_of::<768>(platform, bytes, starts, out),
            13 => self.hash_of::<832>(platform, bytes, starts, out),
            14 => self.hash_of::<896>(platform, bytes, starts, out),
            15 => self.hash_of::<960>(platform, bytes, starts, out),
            _ => self.hash_of::<1024>(platform, bytes, starts, out),
        }
    }

    /// Hashes chunks of `N` bytes each.
    fn hash_of<const N: usize>(
        self,
        platform: Platform,
        bytes: &[u8],
        starts: &[usize],
        out: &mut [[u8; OUT_LEN]; LANES],
    ) {
        let mut inputs = [&[0; N]; LANES];
        for (input, start) in inputs.iter_mut().zip(starts) {
            if let Some(chunk) = bytes.get(*start..).and_then(<[u8]>::first_chunk) {
                *input = chunk;
            }
        }
        let inputs = inputs.get(..starts.len()).unwrap_or_default();
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
            hashes.add_copy(message, number, |number, hash| found[number] = hash);
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
