"""Segments of a few sections in every framing that is no plain one, with real compressors."""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import cramjam
from Cryptodome.Cipher import AES
from Cryptodome.Util.Padding import pad

from tests.writer import be32, header, marker, record

ALIAS = "Testing:1"
KEY = bytes(range(16))
IV = bytes(range(100, 116))
CHUNK_BYTES = 128


@dataclass(frozen=True, slots=True)
class Stored:
    """A framing: what the header says, and what becomes of a section's records."""

    name: str
    parameters: dict[str, object]
    store: Callable[[bytes], bytes]
    keys: dict[str, bytes]

    def segment(self, sections: Iterable[Sequence[bytes]], *, segment_id: int = 1) -> bytes:
        """A segment of version 7; sections are given by their payloads."""
        data = self.header(segment_id)
        for payloads in sections:
            content = b"".join(record(payload) for payload in payloads)
            stored = be32(len(content)) + self.store(content)
            data += marker(segment_id, len(data), len(data) + 8 + len(stored)) + stored
        return data

    def header(self, segment_id: int = 1) -> bytes:
        # As the node writes it up to 4.1, with slashes escaped.
        text = json.dumps(self.parameters).replace("/", "\\/")
        return header(7, segment_id, text.encode())


def lz4_block(content: bytes) -> bytes:
    """As `LZ4Compressor` stores it."""
    if not content:
        return bytes(5)
    return bytes(cramjam.lz4.compress_block(content, store_size=True))


def zstd_frame(content: bytes) -> bytes:
    """With the size of its content, but without the checksum that Cassandra asks for."""
    return bytes(cramjam.zstd.compress(content))


def chunks(encrypt: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """As `EncryptedSegment` stores a section, in small chunks (format notes §2.6)."""

    def store(content: bytes) -> bytes:
        stored = b""
        for at in range(0, len(content), CHUNK_BYTES):
            part = content[at : at + CHUNK_BYTES]
            plain = be32(len(part)) + lz4_block(part)
            encrypted = encrypt(plain)
            stored += be32(len(encrypted)) + be32(len(plain)) + encrypted
        return stored

    return store


def _cbc(plain: bytes) -> bytes:
    return AES.new(KEY, AES.MODE_CBC, iv=IV).encrypt(pad(plain, AES.block_size))


def _ctr(plain: bytes) -> bytes:
    return AES.new(KEY, AES.MODE_CTR, nonce=b"", initial_value=IV).encrypt(plain)


def compressed(class_name: str, store: Callable[[bytes], bytes]) -> Stored:
    parameters: dict[str, object] = {"compressionClass": class_name, "compressionParameters": None}
    return Stored(class_name.rpartition(".")[2], parameters, store, {})


def encrypted(cipher: str, encrypt: Callable[[bytes], bytes]) -> Stored:
    parameters: dict[str, object] = {"encCipher": cipher, "encKeyAlias": ALIAS, "encIV": IV.hex()}
    # Java's keystores know aliases in lower case only.
    return Stored(cipher, parameters, chunks(encrypt), {ALIAS.lower(): KEY})


LZ4 = compressed("LZ4Compressor", lz4_block)
SNAPPY = compressed("SnappyCompressor", lambda each: bytes(cramjam.snappy.compress_raw(each)))
DEFLATE = compressed("DeflateCompressor", lambda each: zlib.compress(each) if each else b"")
ZSTD = compressed("org.apache.cassandra.io.compress.ZstdCompressor", zstd_frame)
NOOP = compressed("org.apache.cassandra.io.compress.NoopCompressor", bytes)
CBC = encrypted("AES/CBC/PKCS5Padding", _cbc)
CTR = encrypted("AES/CTR/NoPadding", _ctr)

FRAMINGS = (LZ4, SNAPPY, DEFLATE, ZSTD, NOOP, CBC, CTR)
