"""Storage of a section's records, one value per framing (format notes §2.4 to §2.6)."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import cramjam
from Cryptodome.Cipher import AES
from Cryptodome.Util.Padding import pad

from tests.oracle.writer.numbers import be32

DIRECT_IO_BLOCK = 4096
KEY_ALIAS = "Testing:1"
"""Java's keystores know aliases only in lower case."""
KEY = bytes(range(16))
IV = bytes(range(100, 116))
SMALL_CHUNK = 1024
"""Bytes of an encrypted chunk (`chunk_length_kb`), so small that records straddle chunks."""


@dataclass(frozen=True, slots=True)
class Framing:
    """The header, and the bytes after a marker and after the whole chain.

    `store` encodes the records of a section as the bytes between two markers. `tail` returns the
    bytes after the last section, given the length of the file so far. `keys` are the keys to read
    it.
    """

    name: str
    parameters: bytes
    store: Callable[[bytes], bytes]
    tail: Callable[[int], bytes]
    keys: dict[str, bytes] = field(default_factory=dict)


def lz4_literals(content: bytes) -> bytes:
    """LZ4 block with a length prefix that encodes `content` without compression."""
    length = len(content)
    token = bytes([min(length, 15) << 4])
    more = b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])
    return length.to_bytes(4, "little") + token + more + content


def lz4_block(content: bytes) -> bytes:
    """LZ4 block with a length prefix."""
    return bytes(cramjam.lz4.compress_block(content, store_size=True))


def compressed(name: str, block: Callable[[bytes], bytes], class_name: str) -> Framing:
    """The framing of a compressor: the length of the records, then one block (§2.5)."""
    return Framing(
        name,
        b'{"compressionClass":"%s","compressionParameters":null}' % class_name.encode(),
        lambda content: be32(len(content)) + block(content),
        lambda length: b"",
    )


def encrypted(transformation: str, encipher: Callable[[bytes], bytes], chunk_bytes: int) -> Framing:
    """The length of the records, then chunks with LZ4 inside (§2.6)."""

    def store(content: bytes) -> bytes:
        out = [be32(len(content))]
        for start in range(0, len(content), chunk_bytes):
            chunk = content[start : start + chunk_bytes]
            plain = be32(len(chunk)) + lz4_block(chunk)
            cipher_text = encipher(plain)
            out += (be32(len(cipher_text)), be32(len(plain)), cipher_text)
        return b"".join(out)

    # Up to 4.1 slashes are escaped (§1.3).
    cipher = transformation.replace("/", "\\/").encode()
    parameters = b'{"encCipher":"%s","encIV":"%s","encKeyAlias":"%s"}' % (
        cipher,
        IV.hex().encode(),
        KEY_ALIAS.encode(),
    )
    return Framing(transformation, parameters, store, lambda length: b"", {KEY_ALIAS.lower(): KEY})


def aes_cbc(chunk_bytes: int) -> Framing:
    """Chunks of this number of bytes before compression."""

    def encipher(plain: bytes) -> bytes:
        return AES.new(KEY, AES.MODE_CBC, iv=IV).encrypt(pad(plain, AES.block_size))

    return encrypted("AES/CBC/PKCS5Padding", encipher, chunk_bytes)


def aes_cfb(chunk_bytes: int) -> Framing:
    """The same with the cipher text of a block fed back."""

    def encipher(plain: bytes) -> bytes:
        cipher = AES.new(KEY, AES.MODE_CFB, iv=IV, segment_size=8 * AES.block_size)
        return cipher.encrypt(pad(plain, AES.block_size))

    return encrypted("AES/CFB/PKCS5Padding", encipher, chunk_bytes)


def aes_ofb(chunk_bytes: int) -> Framing:
    """The same with the output of the cipher fed back."""

    def encipher(plain: bytes) -> bytes:
        return AES.new(KEY, AES.MODE_OFB, iv=IV).encrypt(pad(plain, AES.block_size))

    return encrypted("AES/OFB/PKCS5Padding", encipher, chunk_bytes)


def aes_ctr(chunk_bytes: int) -> Framing:
    """The same in counter mode, without padding."""

    def encipher(plain: bytes) -> bytes:
        return AES.new(KEY, AES.MODE_CTR, nonce=b"", initial_value=IV).encrypt(plain)

    return encrypted("AES/CTR/NoPadding", encipher, chunk_bytes)


PLAIN = Framing("plain", b"{}", bytes, lambda length: bytes(16))
"""A memory-mapped segment: zeros after the chain (§2.4)."""

DIRECT_IO = Framing("direct I/O", b"{}", bytes, lambda length: bytes(-length % DIRECT_IO_BLOCK))
"""The same, grown in whole blocks: the chain can end with the file (§2.4)."""

LZ4_LITERALS = compressed("LZ4 literals", lz4_literals, "LZ4Compressor")
LZ4 = compressed("LZ4", lz4_block, "LZ4Compressor")
SNAPPY = compressed(
    "Snappy", lambda content: bytes(cramjam.snappy.compress_raw(content)), "SnappyCompressor"
)
DEFLATE = compressed(
    # An empty section has no block at all (§2.5).
    "Deflate",
    lambda content: zlib.compress(content) if content else b"",
    "DeflateCompressor",
)
ZSTD = compressed(
    "Zstd",
    lambda content: bytes(cramjam.zstd.compress(content)),
    "org.apache.cassandra.io.compress.ZstdCompressor",
)
NOOP = compressed("Noop", bytes, "org.apache.cassandra.io.compress.NoopCompressor")
AES_CBC = aes_cbc(SMALL_CHUNK)
AES_CFB = aes_cfb(SMALL_CHUNK)
AES_OFB = aes_ofb(SMALL_CHUNK)
AES_CTR = aes_ctr(64 << 10)

FRAMINGS = (
    *(PLAIN, DIRECT_IO, LZ4_LITERALS, LZ4, SNAPPY, DEFLATE, ZSTD, NOOP),
    *(AES_CBC, AES_CFB, AES_OFB, AES_CTR),
)
