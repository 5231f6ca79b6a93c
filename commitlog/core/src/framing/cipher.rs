//! Ciphers for the transformations in segment headers (`CipherFactory`).
//!
//! Cassandra passes an `IvParameterSpec` to every cipher; the AES modes ECB and GCM reject it. For
//! texts of any length, Java requires padding in CBC, CFB and OFB, and it rejects padding in CTR.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::consts::U16;
use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockSizeUser, InnerIvInit,
    IvSizeUser, KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use aes::{Aes128, Aes192, Aes256};

/// Length of an AES block and of an initialization vector.
pub const BLOCK_LENGTH: usize = 16;
pub type Block = [u8; BLOCK_LENGTH];

/// Decrypts chunks, which all start with the same initialization vector.
pub trait ChunkCipher: Send {
    /// Decrypts a whole chunk in place; returns it without its padding, or `None` if the padding is
    /// invalid.
    fn decrypt<'c>(&self, chunk: &'c mut [u8]) -> Option<&'c [u8]>;

    /// Decrypts the first block of a chunk in place.
    fn decrypt_first(&self, block: &mut Block);

    /// Returns the length of the cipher text for `plain` bytes.
    fn encrypted_length(&self, plain: usize) -> usize;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Cbc,
    Cfb,
    Ofb,
    Ctr,
}

/// Why a cipher cannot be created.
#[derive(Debug, PartialEq, Eq)]
pub enum NoCipher {
    /// The transformation or the length of its vector is not supported.
    Unsupported(String),
    /// The key has the wrong length.
    Key(String),
}

/// The supported transformations.
const KNOWN: &str =
    "AES/CBC/PKCS5Padding, AES/CFB/PKCS5Padding, AES/OFB/PKCS5Padding and AES/CTR/NoPadding";

/// Creates the cipher for a Java transformation, such as `AES/CBC/PKCS5Padding`. Like Java, it
/// ignores case.
pub fn cipher(
    transformation: &str,
    key: &[u8],
    iv: &[u8],
) -> Result<Box<dyn ChunkCipher>, NoCipher> {
    let mode = match transformation.to_ascii_lowercase().as_str() {
        "aes/cbc/pkcs5padding" => Mode::Cbc,
        "aes/cfb/pkcs5padding" => Mode::Cfb,
        "aes/ofb/pkcs5padding" => Mode::Ofb,
        "aes/ctr/nopadding" => Mode::Ctr,
        _ => {
            return Err(NoCipher::Unsupported(format!(
                "the segment is encrypted with {transformation}, which is not supported; the supported ciphers are {KNOWN}"
            )));
        }
    };
    let iv = Block::try_from(iv).map_err(|_| {
        NoCipher::Unsupported(format!(
            "the initialization vector of {transformation} has {} bytes; AES needs \
             {BLOCK_LENGTH}",
            iv.len()
        ))
    })?;
    let made = match key.len() {
        16 => of_key::<Aes128>(mode, key, iv),
        24 => of_key::<Aes192>(mode, key, iv),
        32 => of_key::<Aes256>(mode, key, iv),
        _ => None,
    };
    made.ok_or_else(|| {
        let length = key.len();
        NoCipher::Key(format!("it has {length} bytes; AES needs 16, 24 or 32"))
    })
}

fn of_key<C>(mode: Mode, key: &[u8], iv: Block) -> Option<Box<dyn ChunkCipher>>
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt,
    C: KeyInit + Clone + Send + 'static,
{
    let aes = C::new_from_slice(key).ok()?;
    Some(match mode {
        Mode::Cbc => Box::new(Padded::<cbc::Decryptor<C>> { aes, iv }),
        Mode::Cfb => Box::new(Padded::<cfb_mode::Decryptor<C>> { aes, iv }),
        Mode::Ofb => Box::new(Padded::<ofb::OfbCore<C>> { aes, iv }),
        Mode::Ctr => Box::new(Ctr { aes, iv }),
    })
}

/// A mode that needs whole blocks, and therefore padding.
struct Padded<M: InnerIvInit> {
    aes: M::Inner,
    iv: Block,
}

impl<M> Padded<M>
where
    M: BlockModeDecrypt + BlockSizeUser<BlockSize = U16> + IvSizeUser<IvSize = U16> + InnerIvInit,
    M::Inner: Clone,
{
    fn decryptor(&self) -> M {
        M::inner_iv_init(self.aes.clone(), &Array(self.iv))
    }
}

impl<M> ChunkCipher for Padded<M>
where
    M: BlockModeDecrypt + BlockSizeUser<BlockSize = U16> + IvSizeUser<IvSize = U16> + InnerIvInit,
    M::Inner: Clone + Send,
{
    fn decrypt<'c>(&self, chunk: &'c mut [u8]) -> Option<&'c [u8]> {
        // Java calls this padding PKCS5Padding.
        self.decryptor().decrypt_padded::<Pkcs7>(chunk).ok()
    }

    fn decrypt_first(&self, block: &mut Block) {
        let mut decrypted = Array(*block);
        self.decryptor().decrypt_block(&mut decrypted);
        *block = decrypted.0;
    }

    fn encrypted_length(&self, plain: usize) -> usize {
        // Padding has 1 to 16 bytes.
        (plain / BLOCK_LENGTH + 1) * BLOCK_LENGTH
    }
}

struct Ctr<C> {
    aes: C,
    iv: Block,
}

impl<C> Ctr<C>
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + Clone + Send,
{
    fn apply(&self, bytes: &mut [u8]) -> Option<()> {
        let core = ctr::CtrCore::inner_iv_init(self.aes.clone(), &Array(self.iv));
        let mut stream: ctr::Ctr128BE<C> = StreamCipherCoreWrapper::from_core(core);
        stream.try_apply_keystream(bytes).ok()
    }
}

impl<C> ChunkCipher for Ctr<C>
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + Clone + Send,
{
    fn decrypt<'c>(&self, chunk: &'c mut [u8]) -> Option<&'c [u8]> {
        self.apply(chunk)?;
        Some(chunk)
    }

    fn decrypt_first(&self, block: &mut Block) {
        self.apply(block);
    }

    fn encrypted_length(&self, plain: usize) -> usize {
        plain
    }
}
