"""Errors, limits and typed DER decoders for both formats of Java keystores.

Callers add the file and its origin to errors.
"""

from typing import Any, cast

from Cryptodome.Util.asn1 import DerObject, DerObjectId, DerOctetString, DerSequence, DerSetOf


class UnreadableKeystoreError(ValueError):
    """Not a keystore, or a wrong password. The message is a clause without a period."""


MAX_ROUNDS = 5_000_000
"""Java's limit for the rounds of a key derivation."""


def bounded_rounds(rounds: int) -> int:
    """Returns `rounds`. Raises UnreadableKeystoreError if Java does not allow this many."""
    if rounds > MAX_ROUNDS:
        raise UnreadableKeystoreError(f"a key needs {rounds} rounds; Java allows {MAX_ROUNDS}")
    return rounds


WRONG_PASSWORD = "the password of the keystore is wrong, or the file is damaged"
"""Java's formats do not distinguish the two."""


def wrong_key_password(alias: str) -> str:
    """The message for a password that opens the store but not this key."""
    return f'the password of the key "{alias}" is wrong, or the file is damaged'


def sequence(text: bytes) -> list[Any]:
    """Decodes a SEQUENCE: integers as numbers, other elements as DER. Raises ValueError."""
    return list(cast(Any, DerSequence().decode(text)))


def set_of(text: bytes) -> list[Any]:
    """Decodes a SET OF like `sequence`."""
    return list(cast(Any, DerSetOf().decode(text)))


def octets(text: bytes) -> bytes:
    return bytes(cast(Any, DerOctetString().decode(text)).payload)


def object_id(text: bytes) -> str:
    """Decodes an OBJECT IDENTIFIER to dotted numbers."""
    return str(cast(Any, DerObjectId().decode(text)).value)


def tagged(text: bytes) -> bytes:
    """Returns the content of an explicit tag 0."""
    return bytes(cast(Any, DerObject(explicit=0).decode(text)).payload)


def payload(text: bytes) -> bytes:
    return bytes(cast(Any, DerObject().decode(text)).payload)
