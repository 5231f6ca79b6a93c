"""Encrypted sections: separately encrypted chunks with LZ4 inside (format notes §2.6)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from Cryptodome.Cipher import AES
from Cryptodome.Util.Padding import unpad

from tests.oracle.reference.blocks import decompress
from tests.oracle.reference.errors import MalformedError

_Decipher = Callable[[bytes, bytes, bytes], bytes]
_PADDED: Mapping[str, _Decipher] = {
    "AES/CBC/PKCS5Padding": lambda key, iv, text: AES.new(key, AES.MODE_CBC, iv=iv).decrypt(text),
    "AES/CFB/PKCS5Padding": lambda key, iv, text: AES.new(
        key, AES.MODE_CFB, iv=iv, segment_size=8 * AES.block_size
    ).decrypt(text),
    "AES/OFB/PKCS5Padding": lambda key, iv, text: AES.new(key, AES.MODE_OFB, iv=iv).decrypt(text),
}
TRANSFORMATIONS = frozenset({*_PADDED, "AES/CTR/NoPadding"})
"""Names of the known ciphers."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """Encryption of the header: Java's name of the cipher, the key's alias, the vector."""

    transformation: str
    alias: str
    iv: bytes


def decrypt(encryption: Encryption, key: bytes, block: bytes) -> bytes:
    """The records of a section's chunks, joined. Raises MalformedError.

    Source: EncryptionUtils#decrypt, EncryptedFileSegmentInputStream.
    """
    return b"".join(_unpack(_decipher(encryption, key, *chunk)) for chunk in _chunks(block))


def _chunks(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Cipher text of each chunk, and the number of deciphered bytes that count."""
    at = 0
    while at < len(block):
        length = int.from_bytes(block[at : at + 4], "big")
        plain_length = int.from_bytes(block[at + 4 : at + 8], "big")
        cipher_text = block[at + 8 : at + 8 + length]
        if len(cipher_text) < length or not length:
            raise MalformedError(at, f"encrypted chunk of {length} bytes is cut short")
        yield cipher_text, plain_length
        at += 8 + length


def _decipher(encryption: Encryption, key: bytes, cipher_text: bytes, plain_length: int) -> bytes:
    try:
        if encryption.transformation in _PADDED:
            padded = _PADDED[encryption.transformation](key, encryption.iv, cipher_text)
            plain = unpad(padded, AES.block_size)
        else:
            counter = AES.new(key, AES.MODE_CTR, nonce=b"", initial_value=encryption.iv)
            plain = counter.decrypt(cipher_text)
    except ValueError as error:
        raise MalformedError(0, f"encrypted chunk: {error}") from error
    if len(plain) < plain_length:
        raise MalformedError(0, f"encrypted chunk gives {len(plain)} bytes of {plain_length}")
    return plain[:plain_length]


def _unpack(plain: bytes) -> bytes:
    length = int.from_bytes(plain[:4], "big")
    content = decompress("LZ4Compressor", plain[4:])
    if len(content) != length:
        raise MalformedError(0, f"encrypted chunk unpacks to {len(content)} bytes, not {length}")
    return content
