"""Reads JKS, Java's store before PKCS12 (`sun.security.provider.JavaKeyStore`).

    magic, version, count | entries … | SHA-1 of password, "Mighty Aphrodite" and preceding bytes
    entry        tag, alias, time in ms | content by tag
    private key  an EncryptedPrivateKeyInfo, count of certificates, certificates
    trusted      a certificate

A private key is encrypted with Sun's proprietary cipher (`KeyProtector`): XOR with a stream of
SHA-1 sums over password and salt, then a SHA-1 sum of password and key.
"""

import hashlib
import hmac
import io
import struct
from dataclasses import dataclass, field

from sidecar.tls.store_file import WRONG_PASSWORD, UnreadableStoreError

MAGIC = bytes.fromhex("feedfeed")
_SUM_BYTES = 20
_PRIVATE_KEY, _CERTIFICATE = 1, 2
_LONG_FORM = 0x80


@dataclass(frozen=True, slots=True)
class JksStore:
    """The first `key` (PKCS8) with its chain, and trusted certificates, all DER."""

    key: bytes | None = field(default=None, repr=False)
    chain: tuple[bytes, ...] = ()
    trusted: tuple[bytes, ...] = ()


def read_jks(data: bytes, password: str | None, key_password: str | None = None) -> JksStore:
    """Parse a store. Raises UnreadableStoreError.

    Without `password`, checksum and keys are ignored, as in Java for trusted certificates.
    `key_password` defaults to `password`.
    """
    content, found_sum = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
    if password is not None:
        wanted_sum = hashlib.sha1(_secret(password) + b"Mighty Aphrodite" + content).digest()
        if not hmac.compare_digest(wanted_sum, found_sum):
            raise UnreadableStoreError(WRONG_PASSWORD)
    of_key = key_password if key_password is not None else password
    try:
        return _entries(io.BytesIO(content), None if of_key is None else _secret(of_key))
    except (struct.error, IndexError) as error:
        raise UnreadableStoreError("the file is damaged") from error


def _secret(password: str) -> bytes:
    """Encode a password as Java does."""
    return password.encode("utf-16-be")


def _entries(stream: io.BytesIO, secret: bytes | None) -> JksStore:
    key: bytes | None = None
    chain: tuple[bytes, ...] = ()
    trusted: list[bytes] = []
    _, version, count = struct.unpack(">4sII", stream.read(12))
    for _ in range(count):
        (tag,) = struct.unpack(">I", stream.read(4))
        _name(stream)
        stream.read(8)
        if tag == _PRIVATE_KEY:
            hidden = _block(stream)
            (certificates,) = struct.unpack(">I", stream.read(4))
            its_chain = tuple(_certificate(stream, version) for _ in range(certificates))
            if key is None and secret is not None:
                key, chain = _revealed(hidden, secret), its_chain
        elif tag == _CERTIFICATE:
            trusted.append(_certificate(stream, version))
        else:
            raise UnreadableStoreError(f"it has an entry of the unknown type {tag}")
    return JksStore(key, chain, tuple(trusted))


def _name(stream: io.BytesIO) -> bytes:
    (length,) = struct.unpack(">H", stream.read(2))
    return stream.read(length)


def _block(stream: io.BytesIO) -> bytes:
    (length,) = struct.unpack(">I", stream.read(4))
    return stream.read(length)


def _certificate(stream: io.BytesIO, version: int) -> bytes:
    if version > 1:
        _name(stream)
    return _block(stream)


def _revealed(info: bytes, secret: bytes) -> bytes:
    """Decrypt the key in an EncryptedPrivateKeyInfo, a sequence of algorithm and octets."""
    inside, _ = _element(info)
    _, octets = _element(inside)
    protected, _ = _element(octets)
    salt, found_sum = protected[:_SUM_BYTES], protected[-_SUM_BYTES:]
    hidden = protected[_SUM_BYTES:-_SUM_BYTES]
    stream, link = b"", salt
    while len(stream) < len(hidden):
        link = hashlib.sha1(secret + link).digest()
        stream += link
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key).digest(), found_sum):
        raise UnreadableStoreError("its key has a different password")
    return key


def _element(der: bytes) -> tuple[bytes, bytes]:
    """Split DER into the content of the first element, and the remaining bytes."""
    length, start = der[1], 2
    if length & _LONG_FORM:
        count = length & ~_LONG_FORM
        length, start = int.from_bytes(der[2 : 2 + count], "big"), 2 + count
    return der[start : start + length], der[start + length :]
