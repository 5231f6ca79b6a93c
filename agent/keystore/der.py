"""The DER types of keystores, with the type hints that the library lacks."""

from typing import Any, cast

from Cryptodome.Util.asn1 import DerObject, DerObjectId, DerOctetString, DerSequence, DerSetOf


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
