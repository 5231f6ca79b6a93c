//! Writes the framings that the reader supports: the bytes between two markers for the records of a
//! section (format notes §2.4 to §2.6).

use std::collections::HashMap;
use std::io::Write;

use aes::Aes128;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeEncrypt, KeyIvInit, StreamCipher};
use commitlog_core::framing::Keys;

const KEY: [u8; 16] = *b"a key for fuzzes";
const IV: [u8; 16] = *b"its first vector";
const IV_HEX: &str = "69747320666972737420766563746f72";
/// Bytes of an encrypted chunk before compression; small, so that sections contain several chunks.
const CHUNK_BYTES: usize = 128;
/// Capacity of the output buffer beyond the size of the input.
const SLACK_BYTES: usize = 1024;

/// How sections are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    #[default]
    Plain,
    Lz4,
    Snappy,
    Deflate,
    Zstd,
    Noop,
    AesCbc,
    AesCtr,
}

pub const FRAMINGS: [Framing; 8] = [
    Framing::Plain,
    Framing::Lz4,
    Framing::Snappy,
    Framing::Deflate,
    Framing::Zstd,
    Framing::Noop,
    Framing::AesCbc,
    Framing::AesCtr,
];

impl Framing {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Noop => "noop",
            Self::AesCbc => "cbc",
            Self::AesCtr => "ctr",
        }
    }

    /// The JSON parameters in the header of a segment.
    pub fn parameters(self) -> String {
        let class = match self {
            Self::Plain => return "{}".to_owned(),
            Self::AesCbc | Self::AesCtr => {
                let cipher = if self == Self::AesCbc {
                    "AES/CBC/PKCS5Padding"
                } else {
                    "AES/CTR/NoPadding"
                };
                return format!(
                    r#"{{"encCipher":"{cipher}","encIV":"{IV_HEX}","encKeyAlias":"fuzz"}}"#
                );
            }
            Self::Lz4 => "LZ4Compressor",
            Self::Snappy => "SnappyCompressor",
            Self::Deflate => "DeflateCompressor",
            Self::Zstd => "ZstdCompressor",
            Self::Noop => "NoopCompressor",
        };
        format!(r#"{{"compressionClass":"{class}","compressionParameters":null}}"#)
    }

    /// The decryption keys for a reader.
    pub fn keys(self) -> Keys {
        Keys::new(HashMap::from([("fuzz".to_owned(), KEY.to_vec())]))
    }

    /// Encodes the records of a section as they are stored.
    pub fn store(self, content: &[u8]) -> Vec<u8> {
        let block = match self {
            Self::Plain => return content.to_vec(),
            Self::Lz4 => lz4_flex::block::compress_prepend_size(content),
            Self::Snappy => snap::raw::Encoder::new()
                .compress_vec(content)
                .unwrap_or_default(),
            Self::Deflate => deflated(content).unwrap_or_default(),
            Self::Zstd => zstandard(content).unwrap_or_default(),
            Self::Noop => content.to_vec(),
            Self::AesCbc | Self::AesCtr => content
                .chunks(CHUNK_BYTES)
                .flat_map(|chunk| self.chunk(chunk))
                .collect(),
        };
        [&(content.len() as u32).to_be_bytes()[..], &block].concat()
    }

    /// Compresses a chunk with LZ4, prefixes its length in both byte orders, and encrypts it.
    fn chunk(self, content: &[u8]) -> Vec<u8> {
        let mut text = (content.len() as u32).to_be_bytes().to_vec();
        text.extend(lz4_flex::block::compress_prepend_size(content));
        let plain_length = text.len();
        if self == Self::AesCbc {
            text.resize(plain_length + 16, 0);
            let cipher = cbc::Encryptor::<Aes128>::new(&KEY.into(), &IV.into());
            let length = cipher
                .encrypt_padded::<Pkcs7>(&mut text, plain_length)
                .map_or(0, <[u8]>::len);
            text.truncate(length);
        } else {
            ctr::Ctr128BE::<Aes128>::new(&KEY.into(), &IV.into()).apply_keystream(&mut text);
        }
        let lengths = [text.len(), plain_length].map(|length| (length as u32).to_be_bytes());
        [&lengths.concat(), &text[..]].concat()
    }
}

/// Returns no bytes for an empty section, like Cassandra.
fn deflated(content: &[u8]) -> std::io::Result<Vec<u8>> {
    if content.is_empty() {
        return Ok(Vec::new());
    }
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Adds a checksum, like Cassandra.
fn zstandard(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(1)?;
    compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))?;
    let mut block = Vec::with_capacity(content.len() + SLACK_BYTES);
    compressor.compress_to_buffer(content, &mut block)?;
    Ok(block)
}
