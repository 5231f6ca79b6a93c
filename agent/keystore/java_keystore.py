"""What both formats of Java's keystores share: errors, rounds, and DER types with type hints.

Callers add the file and its origin to an error.
"""

from typing import Any, cast

from Cryptodome.Util.asn1 import DerObject, DerObjectId, DerOctetString, DerSequence, DerSetOf


class UnreadableKeystoreError(ValueError):
    """Not a keystore, or a wrong password; the message is a clause without a period."""


MAX_ROUNDS = 5_000_000
"""Java's limit for the rounds that make a key of a password."""


def bounded_rounds(rounds: int) -> int:
    """The rounds of a keystore. Raises UnreadableKeystoreError for more than Java allows."""
    if rounds > MAX_ROUNDS:
        raise UnreadableKeystoreError(f"it has a key of {rounds} rounds; Java allows {MAX_ROUNDS}")
    return rounds


WRONG_PASSWORD = "the password of the keystore is wrong, or the file is damaged"
"""Java's formats do not distinguish the two."""


def wrong_key_password(alias: str) -> str:
    """The password opens the store, and not this key."""
    return f'the password of the key "{alias}" is wrong, or the file is damaged'


def sequence(text: bytes) -> list[Any]:
    """The elements: integers decoded, all others as DER. Raises ValueError."""
    return list(cast(Any, DerSequence().decode(text)))


def set_of(text: bytes) -> list[Any]:
    """As `sequence`."""
    return list(cast(Any, DerSetOf().decode(text)))


def octets(text: bytes) -> bytes:
    return bytes(cast(Any, DerOctetString().decode(text)).payload)


def object_id(text: bytes) -> str:
    """An OBJECT IDENTIFIER as numbers with dots."""
    return str(cast(Any, DerObjectId().decode(text)).value)


def tagged(text: bytes) -> bytes:
    """The content of an explicit tag 0."""
    return bytes(cast(Any, DerObject(explicit=0).decode(text)).payload)


def payload(text: bytes) -> bytes:
    return bytes(cast(Any, DerObject().decode(text)).payload)
