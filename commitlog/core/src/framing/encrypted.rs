//! Encrypted sections: separately encrypted chunks with LZ4 blocks (`EncryptedSegment`,
//! `EncryptionUtils`, format notes §2.6).
//!
//! ```text
//! | E: 4 | P: 4 | E bytes, which decrypt to:  | U: 4 | U: 4, little-endian | LZ4 block | padding |
//!                                             | P bytes                                |
//! ```
//!
//! U is stored twice, so that a wrong key is detected: it decrypts to two different numbers.

use super::cipher::{BLOCK_LENGTH, Block, ChunkCipher, NoCipher, cipher};
use super::keys::Keys;
use super::{BlockDecoder, check_length, lz4};
use crate::descriptor::Encryption;
use crate::error::SegmentError;

/// Bytes of a chunk before its cipher text.
pub const CHUNK_HEADER_LENGTH: usize = 8;
const LENGTH_BYTES: usize = 4;
const CHUNK_LENGTH: &str = "the length of an encrypted chunk is damaged";

pub struct Encrypted {
    cipher: Box<dyn ChunkCipher>,
    alias: String,
    /// One decrypted chunk.
    plain: Vec<u8>,
    is_key_proven: bool,
}

impl Encrypted {
    pub fn new(segment: &str, encryption: &Encryption, keys: &Keys) -> Result<Self, SegmentError> {
        let alias = &encryption.key_alias;
        let key_error = |reason: &str| SegmentError::Key {
            segment: segment.to_owned(),
            alias: alias.clone(),
            reason: reason.to_owned(),
        };
        let key = keys.get(alias).ok_or_else(|| key_error("is missing"))?;
        let cipher =
            cipher(&encryption.cipher, key, &encryption.iv).map_err(|missing| match missing {
                NoCipher::Unsupported(reason) => SegmentError::Unsupported {
                    segment: segment.to_owned(),
                    reason,
                },
                NoCipher::Key(reason) => key_error(&format!("is invalid: {reason}")),
            })?;
        Ok(Self {
            cipher,
            alias: alias.clone(),
            plain: Vec::new(),
            is_key_proven: false,
        })
    }

    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// Whether a successful decryption has proven the key.
    pub fn is_key_proven(&self) -> bool {
        self.is_key_proven
    }

    /// Tests the key with the start of a chunk's cipher text, up to one block.
    pub fn prove_key(&mut self, cipher_text: &[u8]) -> bool {
        let is_proof = self.unpacked_length(cipher_text).is_some();
        self.is_key_proven |= is_proof;
        is_proof
    }

    /// Decrypts the uncompressed length of a chunk from its first block of cipher text.
    fn unpacked_length(&self, cipher_text: &[u8]) -> Option<usize> {
        let mut block: Block = [0; BLOCK_LENGTH];
        let length = cipher_text.len().min(BLOCK_LENGTH);
        block
            .get_mut(..length)?
            .copy_from_slice(cipher_text.get(..length)?);
        self.cipher.decrypt_first(&mut block);
        Some(split_length(&block)?.0)
    }

    /// Whether a chunk's two lengths agree. A damaged length could extend the chunk to the end of a
    /// later one and hide the chunks between them.
    fn is_as_long_as_it_says(&self, chunk: &Chunk<'_>) -> bool {
        self.cipher.encrypted_length(chunk.plain_length) == chunk.cipher_text.len()
    }

    /// Decodes one chunk into the start of `records`; returns its decoded length.
    fn decode_chunk(&mut self, chunk: &Chunk<'_>, records: &mut [u8]) -> Result<usize, String> {
        if !self.is_as_long_as_it_says(chunk) {
            return Err(CHUNK_LENGTH.to_owned());
        }
        self.plain.clear();
        self.plain.extend_from_slice(chunk.cipher_text);
        let plain = self
            .cipher
            .decrypt(&mut self.plain)
            .and_then(|plain| plain.get(..chunk.plain_length));
        let Some((length, packed)) = plain.and_then(split_length) else {
            return Err("an encrypted chunk is damaged".to_owned());
        };
        self.is_key_proven = true;
        let target = records
            .get_mut(..length)
            .ok_or("the encrypted chunks decode to more bytes than the length of their section")?;
        let written = lz4_flex::block::decompress_into(packed, target)
            .map_err(|error| format!("the LZ4 block in an encrypted chunk is damaged: {error}"))?;
        check_length("LZ4 block in a chunk", written, length)?;
        Ok(length)
    }
}

/// Splits a decrypted chunk into its length, stored in both byte orders, and its LZ4 block.
fn split_length(plain: &[u8]) -> Option<(usize, &[u8])> {
    let (big_endian, rest) = plain.split_first_chunk::<LENGTH_BYTES>()?;
    let (little_endian, packed) = rest.split_first_chunk::<LENGTH_BYTES>()?;
    let length = u32::from_be_bytes(*big_endian);
    (length == u32::from_le_bytes(*little_endian) && length != 0)
        .then_some((length as usize, packed))
}

impl BlockDecoder for Encrypted {
    fn max_length(&self, stored: usize) -> usize {
        stored.saturating_mul(lz4::MAX_RATIO)
    }

    fn decoded_length(&mut self, block: &[u8]) -> Option<usize> {
        let mut length = 0_usize;
        for chunk in Chunks(block) {
            let chunk = chunk
                .ok()
                .filter(|chunk| self.is_as_long_as_it_says(chunk))?;
            length = length.checked_add(self.unpacked_length(chunk.cipher_text)?)?;
        }
        Some(length)
    }

    fn decode(&mut self, block: &[u8], records: &mut [u8]) -> Result<(), String> {
        let mut end = 0;
        for chunk in Chunks(block) {
            let rest = records.get_mut(end..).unwrap_or_default();
            end += self.decode_chunk(&chunk?, rest)?;
        }
        check_length("chain of encrypted chunks", end, records.len())
    }

    fn encryption(&mut self) -> Option<&mut Encrypted> {
        Some(self)
    }
}

struct Chunk<'b> {
    /// Decrypted length, without padding.
    plain_length: usize,
    cipher_text: &'b [u8],
}

/// Iterates over the chunks of a block.
struct Chunks<'b>(&'b [u8]);

impl<'b> Iterator for Chunks<'b> {
    type Item = Result<Chunk<'b>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.0;
        if block.is_empty() {
            return None;
        }
        let chunk = || {
            let (length, rest) = block.split_first_chunk::<LENGTH_BYTES>()?;
            let (plain_length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
            let length = u32::from_be_bytes(*length) as usize;
            let (cipher_text, rest) = rest.split_at_checked(length)?;
            let chunk = Chunk {
                plain_length: u32::from_be_bytes(*plain_length) as usize,
                cipher_text,
            };
            Some((chunk, rest))
        };
        let Some((chunk, rest)) = chunk() else {
            self.0 = &[];
            return Some(Err(CHUNK_LENGTH.to_owned()));
        };
        self.0 = rest;
        Some(Ok(chunk))
    }
}
