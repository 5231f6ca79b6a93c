"""Reads JCEKS, Java's keystore for secret keys (`com.sun.crypto.provider.JceKeyStore`).

    magic, version, count | entries … | SHA-1 of password, "Mighty Aphrodite", preceding bytes
    entry     tag, alias, time in ms | content by tag
    secret    a serialized `SealedObject`: parameters and the encrypted, serialized key

Secret keys are sealed with PBEWithMD5AndTripleDES, Sun's proprietary cipher (`PBECipherCore`).
"""

import hashlib
import hmac
import io
import struct
from collections.abc import Iterable

import javaobj
from Cryptodome.Cipher import DES3
from Cryptodome.Util.Padding import unpad

from agent.keystore.java_keystore import (
    WRONG_PASSWORD,
    UnreadableKeystoreError,
    bounded_rounds,
    octets,
    sequence,
    wrong_key_password,
)

MAGIC = bytes.fromhex("cececece")
_DIGEST_BYTES = 20
_PRIVATE_KEY, _CERTIFICATE, _SECRET_KEY = 1, 2, 3


def read_jceks(data: bytes, store_password: str, key_password: str) -> dict[str, bytes]:
    """Decrypts secret keys; returns them by alias. Omits keys with a different password. Raises
    UnreadableKeystoreError, also if it cannot decrypt any key."""
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    covered = store_password.encode("utf-16-be") + b"Mighty Aphrodite" + content
    if not hmac.compare_digest(hashlib.sha1(covered).digest(), digest):
        raise UnreadableKeystoreError(WRONG_PASSWORD)
    stream = io.BytesIO(content)
    problem: UnreadableKeystoreError | None = None
    try:
        _, version, count = struct.unpack(">4sII", stream.read(12))
        keys: dict[str, bytes] = {}
        for _ in range(count):
            (tag,) = struct.unpack(">I", stream.read(4))
            alias = _text(stream)
            stream.read(8)
            if tag == _SECRET_KEY:
                sealed = _java_object(stream)
                try:
                    keys[alias] = _unseal(sealed, alias, key_password)
                except UnreadableKeystoreError as error:
                    problem = error
            elif tag == _PRIVATE_KEY:
                _block(stream)
                (certificates,) = struct.unpack(">I", stream.read(4))
                for _ in range(certificates):
                    _certificate(stream, version)
            elif tag == _CERTIFICATE:
                _certificate(stream, version)
            else:
                raise UnreadableKeystoreError(f"it contains an entry of unknown type {tag}")
    except struct.error as error:
        raise UnreadableKeystoreError("the file is damaged") from error
    if problem is not None and not keys:
        raise problem
    return keys


def _java_object(stream: io.BytesIO) -> object:
    """Reads one serialized object, and leaves the rest of the stream unread."""
    return javaobj.load(stream, ignore_remaining_data=True)  # type: ignore[no-untyped-call]


def _text(stream: io.BytesIO) -> str:
    (length,) = struct.unpack(">H", stream.read(2))
    return stream.read(length).decode("utf-8", "replace")


def _block(stream: io.BytesIO) -> bytes:
    (length,) = struct.unpack(">I", stream.read(4))
    return stream.read(length)


def _certificate(stream: io.BytesIO, version: int) -> None:
    if version > 1:
        _text(stream)
    _block(stream)


def _unseal(sealed: object, alias: str, password: str) -> bytes:
    algorithm = getattr(sealed, "sealAlg", None)
    if algorithm != "PBEWithMD5AndTripleDES":
        raise UnreadableKeystoreError(f'the key "{alias}" uses the unknown cipher {algorithm}')
    try:
        salt, iterations = sequence(_bytes(getattr(sealed, "encodedParams", ())))
        key, iv = _derive(password.encode("ascii"), octets(salt), iterations)
        encrypted = _bytes(getattr(sealed, "encryptedContent", ()))
        plain = unpad(DES3.new(key, DES3.MODE_CBC, iv=iv).decrypt(encrypted), DES3.block_size)
    except (ValueError, TypeError) as error:
        raise UnreadableKeystoreError(wrong_key_password(alias)) from error
    try:
        secret = _java_object(io.BytesIO(plain))
    except Exception as error:
        # A wrong password yields random bytes, for which the library can raise any exception.
        raise UnreadableKeystoreError(wrong_key_password(alias)) from error
    # `SecretKeySpec` stores the bytes in one of these fields, `KeyRep` in the other.
    for field in ("key", "encoded"):
        if (value := getattr(secret, field, None)) is not None:
            return _bytes(value)
    raise UnreadableKeystoreError(f'the class of the key "{alias}" is unknown')


def _derive(password: bytes, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """Derives the key and the initialization vector of PBEWithMD5AndTripleDES."""
    first, second = salt[:4], salt[4:8]
    if first == second:
        # Reproduces a bug of `PBECipherCore`, which was meant to reverse this half.
        first = bytes((first[3], first[0], first[1], first[3]))
    derived = b""
    for half in (first, second):
        digest = half
        for _ in range(bounded_rounds(iterations)):
            digest = hashlib.md5(digest + password).digest()
        derived += digest
    return derived[:24], derived[24:]


def _bytes(numbers: Iterable[int]) -> bytes:
    """Converts a Java `byte[]`, whose elements are signed."""
    return bytes(number & 0xFF for number in numbers)
