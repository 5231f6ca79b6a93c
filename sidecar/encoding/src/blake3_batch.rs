//! Hashes many short messages with BLAKE3, in parallel by vector instructions.
//!
//! Hashing one short message leaves most of a core idle, because each step depends on the previous
//! step. Sixteen messages of equal length take hardly longer than one.

use blake3::platform::Platform;
use blake3::{BLOCK_LEN, CHUNK_LEN, IncrementCounter, OUT_LEN};

/// Number of messages that fit the widest vectors.
const LANES: usize = 16;
/// Longer messages are hashed one by one: the library hashes their chunks in parallel.
const MAX_BLOCKS: usize = 2 * CHUNK_BLOCKS;
const CHUNK_BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// Flags of a compression (BLAKE3 specification, §2.2).
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 1 << 1;
const PARENT: u8 = 1 << 2;
const ROOT: u8 = 1 << 3;
/// The initial state of every chunk (§2.2, table 1).
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

/// The first half of a digest.
pub type HalfDigest = [u8; OUT_LEN / 2];

/// All pending messages are hashed when they exceed this number of bytes.
const MAX_PENDING_BYTES: usize = 256 << 10;

/// Messages that are hashed together with others of equal length.
pub struct Blake3Batch {
    platform: Platform,
    /// The pending messages, then free space.
    bytes: Vec<u8>,
    /// Start of the free space.
    end: usize,
    pending: usize,
    /// The index is the number of blocks minus one.
    groups: Vec<Group>,
}

/// Pending messages of equal length.
#[derive(Default)]
struct Group {
    starts: Vec<usize>,
    /// The caller's number of each message.
    numbers: Vec<usize>,
}

impl Default for Blake3Batch {
    fn default() -> Self {
        let mut groups = Vec::new();
        groups.resize_with(MAX_BLOCKS, Group::default);
        Self {
            platform: Platform::detect(),
            bytes: Vec::new(),
            end: 0,
            pending: 0,
            groups,
        }
    }
}

impl Blake3Batch {
    /// Returns the free space for the next message.
    #[inline]
    pub fn free(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Ensures that at least `bytes` bytes are free.
    pub fn reserve(&mut self, bytes: usize) {
        let needed = self.end.saturating_add(bytes);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }

    /// Copies a message of whole blocks and adds it as [`Self::add`] does.
    pub fn add_copy(&mut self, message: &[u8], number: usize, done: impl FnMut(usize, HalfDigest)) {
        self.reserve(message.len());
        if let Some(space) = self.free().get_mut(..message.len()) {
            space.copy_from_slice(message);
        }
        self.add(message.len() / BLOCK_LEN, number, done);
    }

    /// Adds a message of `blocks` whole blocks, which the caller wrote to [`Self::free`]. `done`
    /// receives its number and digest, immediately or later.
    #[inline]
    pub fn add(&mut self, blocks: usize, number: usize, mut done: impl FnMut(usize, HalfDigest)) {
        let group = blocks.wrapping_sub(1);
        let Some(group) = self.groups.get_mut(group) else {
            let message = self.bytes.get(self.end..).unwrap_or_default();
            let message = message.get(..blocks.saturating_mul(BLOCK_LEN));
            done(number, half_digest(message.unwrap_or_default()));
            return;
        };
        group.starts.push(self.end);
        group.numbers.push(number);
        self.end += blocks * BLOCK_LEN;
        self.pending += 1;
        if group.numbers.len() == LANES {
            self.pending -= LANES;
            group.hash(self.platform, &self.bytes, blocks, &mut done);
        }
        if self.pending == 0 {
            self.end = 0;
        } else if self.end > MAX_PENDING_BYTES {
            self.finish(done);
        }
    }

    /// Hashes all pending messages.
    pub fn finish(&mut self, mut done: impl FnMut(usize, HalfDigest)) {
        for (index, group) in self.groups.iter_mut().enumerate() {
            if !group.numbers.is_empty() {
                group.hash(self.platform, &self.bytes, index + 1, &mut done);
            }
        }
        (self.pending, self.end) = (0, 0);
    }
}

impl Group {
    #[inline(never)]
    fn hash(
        &mut self,
        platform: Platform,
        bytes: &[u8],
        blocks: usize,
        done: &mut impl FnMut(usize, HalfDigest),
    ) {
        let mut hashes = [[0; OUT_LEN]; LANES];
        let starts = &self.starts;
        if blocks <= CHUNK_BLOCKS {
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
            first.hash(platform, bytes, starts, CHUNK_BLOCKS, &mut left);
            let second = Chunks {
                number: 1,
                end: CHUNK_END,
            };
            let rest = bytes.get(CHUNK_LEN..).unwrap_or_default();
            let blocks = blocks - CHUNK_BLOCKS;
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

/// Chunks with equal numbers in their messages.
#[derive(Clone, Copy)]
struct Chunks {
    number: u64,
    /// Flags of the last block.
    end: u8,
}

impl Chunks {
    /// Hashes a chunk of `blocks` blocks at each of the `starts`.
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

/// Returns the first half of the digest of one message.
pub fn half_digest(message: &[u8]) -> HalfDigest {
    half(blake3::hash(message).as_bytes())
}

fn half(hash: &[u8; OUT_LEN]) -> HalfDigest {
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

    fn hashes(messages: &[Vec<u8>]) -> Vec<HalfDigest> {
        let mut found = vec![[0; OUT_LEN / 2]; messages.len()];
        let mut hashes = Blake3Batch::default();
        for (number, message) in messages.iter().enumerate() {
            hashes.add_copy(message, number, |number, hash| found[number] = hash);
        }
        hashes.finish(|number, hash| found[number] = hash);
        found
    }

    fn expected(messages: &[Vec<u8>]) -> Vec<HalfDigest> {
        messages
            .iter()
            .map(|message| half_digest(message))
            .collect()
    }

    #[test]
    fn equal_lengths_in_any_batch_size_are_hashed() {
        for blocks in 0..=MAX_BLOCKS + 2 {
            for count in [1, 2, 3, 8, 15, 16, 17, 40] {
                let messages: Vec<Vec<u8>> = (0..count)
                    .map(|number| {
                        let bytes = (0..blocks * BLOCK_LEN).map(|i| (i * 31 + number * 7) as u8);
                        bytes.collect()
                    })
                    .collect();
                assert_eq!(hashes(&messages), expected(&messages), "{blocks} {count}");
            }
        }
    }

    proptest! {
        #[test]
        fn mixed_lengths_are_hashed(
            lengths in proptest::collection::vec(1_usize..36, 0..200),
            seed: u8,
        ) {
            let messages: Vec<Vec<u8>> = lengths
                .iter()
                .enumerate()
                .map(|(number, blocks)| vec![seed ^ number as u8; blocks * BLOCK_LEN])
                .collect();
            prop_assert_eq!(hashes(&messages), expected(&messages));
        }
    }
}
