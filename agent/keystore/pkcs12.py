"""Reads secret keys from Java's PKCS12 (RFC 7292; `sun.security.pkcs12.PKCS12KeyStore`).

    PFX             version, ContentInfo of an AuthenticatedSafe, MacData
    AuthenticatedSafe  ContentInfos with SafeBags; Java puts secret keys into unencrypted ones
    SafeBag         kind, value, attributes: the alias is the friendlyName
    secretBag       an EncryptedPrivateKeyInfo (PKCS 8) with the bytes of the key

Since version 16, Java encrypts with PBES2; older versions use PBEWithSHA1AndDESede.
"""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from Cryptodome.Cipher import DES3
from Cryptodome.IO import PKCS8
from Cryptodome.Util.Padding import unpad

from agent.keystore.java_keystore import (
    WRONG_PASSWORD,
    UnreadableKeystoreError,
    bounded_rounds,
    object_id,
    octets,
    payload,
    sequence,
    set_of,
    tagged,
    wrong_key_password,
)

_DATA = "1.2.840.113549.1.7.1"
_SECRET_BAG = "1.2.840.113549.1.12.10.1.5"
_FRIENDLY_NAME = "1.2.840.113549.1.9.20"
_SHA1_AND_DES3 = "1.2.840.113549.1.12.1.3"
_MAC_DIGESTS = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
_FOR_KEY, _FOR_IV, _FOR_MAC = 1, 2, 3


def read_pkcs12(data: bytes, store_password: str, key_password: str) -> dict[str, bytes]:
    """Decrypts secret keys; returns them by alias. Omits keys with a different password. Raises
    UnreadableKeystoreError, also if it cannot decrypt any key."""
    try:
        pfx = sequence(data)
        safe = _content(pfx[1])
        _check(pfx, safe, store_password)
        bags = list(_bags(safe))
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, UnreadableKeystoreError):
            raise
        raise UnreadableKeystoreError("the file is damaged or is not a keystore") from error
    keys: dict[str, bytes] = {}
    for alias, encrypted in bags:
        with suppress(ValueError, IndexError, TypeError):
            keys[alias] = _decrypt(encrypted, key_password)
    if bags and not keys:
        raise UnreadableKeystoreError(wrong_key_password(bags[0][0]))
    return keys


def _content(info: bytes) -> bytes:
    """Returns the content of a ContentInfo of type `data`, or nothing for other types."""
    kind, *rest = sequence(info)
    if object_id(kind) != _DATA:
        return b""
    return octets(tagged(rest[0]))


def _check(pfx: list[Any], safe: bytes, password: str) -> None:
    if len(pfx) < 3:
        return
    digest_info, salt, *iterations = sequence(pfx[2])
    algorithm, digest = sequence(digest_info)
    oid = object_id(sequence(algorithm)[0])
    if oid not in _MAC_DIGESTS:
        raise UnreadableKeystoreError(f"its checksum uses the unknown algorithm {oid}")
    name = _MAC_DIGESTS[oid]
    size = hashlib.new(name).digest_size
    rounds = int(iterations[0]) if iterations else 1
    key = _derive(name, password, octets(salt), rounds, _FOR_MAC, size)
    if not hmac.compare_digest(hmac.digest(key, safe, name), octets(digest)):
        raise UnreadableKeystoreError(WRONG_PASSWORD)


def _bags(safe: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the alias and the EncryptedPrivateKeyInfo of each secret key."""
    for info in sequence(safe):
        content = _content(info)
        for bag in sequence(content) if content else ():
            kind, value, *attributes = sequence(bag)
            if object_id(kind) != _SECRET_BAG:
                continue
            _, secret = sequence(tagged(value))
            yield _alias(attributes), octets(tagged(secret))


def _alias(attributes: list[bytes]) -> str:
    for attribute in set_of(attributes[0]) if attributes else ():
        kind, values = sequence(attribute)
        if object_id(kind) == _FRIENDLY_NAME:
            return payload(set_of(values)[0]).decode("utf-16-be")
    return ""


def _decrypt(encrypted: bytes, password: str) -> bytes:
    algorithm, cipher_text = sequence(encrypted)
    oid, parameters = sequence(algorithm)
    if object_id(oid) != _SHA1_AND_DES3:
        key: bytes = PKCS8.unwrap(encrypted, password.encode())[1]
        return key
    salt_text, iterations = sequence(parameters)
    salt, rounds = octets(salt_text), int(iterations)
    des3 = DES3.new(
        _derive("sha1", password, salt, rounds, _FOR_KEY, 24),
        DES3.MODE_CBC,
        iv=_derive("sha1", password, salt, rounds, _FOR_IV, 8),
    )
    plain = unpad(des3.decrypt(octets(cipher_text)), DES3.block_size)
    return octets(sequence(plain)[2])


def _derive(
    digest: str, password: str, salt: bytes, rounds: int, purpose: int, length: int
) -> bytes:
    """Derives a key as PKCS12 does (RFC 7292, appendix B.2)."""
    size, block = hashlib.new(digest).digest_size, hashlib.new(digest).block_size

    def filled(text: bytes) -> bytearray:
        length = -(-len(text) // block) * block
        return bytearray((text * (block // max(1, len(text)) + 1))[:length])

    text = filled(salt) + filled(password.encode("utf-16-be") + b"\0\0")
    derived = b""
    while len(derived) < length:
        part = bytes([purpose]) * block + text
        for _ in range(bounded_rounds(rounds)):
            part = hashlib.new(digest, part).digest()
        derived += part
        step = int.from_bytes((part * (block // size + 1))[:block], "big") + 1
        for at in range(0, len(text), block):
            number = int.from_bytes(text[at : at + block], "big") + step
            text[at : at + block] = (number % (1 << 8 * block)).to_bytes(block, "big")
    return derived[:length]
