"""Resume tokens in the server's format: hex of a KeyString (`pipeline/resume_token.cpp`).

Fields: cluster time, version, kind (0 high-water mark, 128 event), index in the transaction,
whether it is an `invalidate`, collection UUID, event identifier, optionally the number of a
fragment. Tokens of one stream compare as text. `_typeBits` beside them says which numbers in them
are no int32.
"""

import struct
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bson import Timestamp

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.key_string import key_string, type_bits
from tests.support.mongodb.server.wire import Document

_HIGH_WATER_MARK = 0
_EVENT = 128
_TIMESTAMP, _OPAQUE = "82", "01"
_HEAD_BYTES = 9
_END = b"\x04"
_HEAD = {
    b"\x2b\x02\x29": (1, _HIGH_WATER_MARK),
    b"\x2b\x04\x29": (2, _HIGH_WATER_MARK),
    b"\x2b\x02\x2c\x01\x00": (1, _EVENT),
    b"\x2b\x04\x2c\x01\x00": (2, _EVENT),
}


@dataclass(frozen=True)
class Position:
    """What a member reads out of a token that it is given."""

    token: Document
    version: int
    time: Timestamp
    is_event: bool
    is_invalidate: bool
    # A high-water mark, or the token of an event of one collection.
    is_of_collection: bool
    is_fragment: bool


def high_water_mark(time: Timestamp, version: int) -> str:
    """The place before every event of `time`."""
    fields: list[Any] = [time, version or 1, _HIGH_WATER_MARK, 0, False]
    # Version 2 keeps an empty place for the UUID.
    return _data(version, *fields, *([None] if version > 1 else []))


def _data(version: int, *fields: Any) -> str:
    """Opaque tokens of the tests differ by the first byte from such that tell their time."""
    data = key_string(*fields).hex().upper()
    return data if version else _OPAQUE + data[len(_OPAQUE) :]


def event_token(
    time: Timestamp,
    version: int,
    *,
    index: int,
    collection: UUID | None,
    operation: str,
    key: dict[str, Any] | None,
    description: dict[str, Any] | None,
    is_invalidate: bool = False,
    fragment: int | None = None,
) -> Document:
    """The place of one event; `index` counts from 0 in a transaction, as does `fragment`."""
    fields: list[Any] = [time, version or 1, _EVENT, index, is_invalidate, collection]
    if version <= 1:
        fields += [key] if key is not None else []
    else:
        detail = {"documentKey": key, "operationDescription": description}
        given = {name: value for name, value in detail.items() if value is not None}
        fields.append({"operationType": operation, **given})
    if fragment is not None:
        fields.append(fragment)
    types = type_bits(*fields)
    data = _data(version, *fields)
    return {"_data": data, **({"_typeBits": types} if types else {})}


def parse_token(token: Any) -> Position:
    """Raises the codes of `ResumeToken::getData` and of a key string that cannot be read for
    anything that is no token."""
    data = token.get("_data")
    if not isinstance(data, str):
        raise CommandError(40647, f"Bad resume token: _data of missing or of wrong type: {token}")
    if not isinstance(token.get("_typeBits", b""), bytes):
        raise CommandError(40648, f"Bad resume token: _typeBits of wrong type {token}")
    is_opaque = data.startswith(_OPAQUE)
    try:
        raw = bytes.fromhex(_TIMESTAMP + data[len(_OPAQUE) :] if is_opaque else data)
    except ValueError as error:
        raise CommandError(9, "resume token string was not a valid hex string") from error
    if raw in (b"", _END):
        raise CommandError(40649, "invalid empty resume token")
    if raw[0] != 0x82:
        raise CommandError(50811, f"Unknown type: {raw[0]}")
    if len(raw) < _HEAD_BYTES:
        raise CommandError(15, "KeyString format error: Unexpected end of input")
    if raw[_HEAD_BYTES:] in (b"", _END):
        raise CommandError(50796, "Resume Token does not contain version")
    head = next((each for each in _HEAD if raw[_HEAD_BYTES:].startswith(each)), None)
    if head is None:
        raise CommandError(50795, "Invalid Resume Token: only supports version 0, 1 and 2")
    version, kind = _HEAD[head]
    try:
        seconds, increment = struct.unpack_from(">II", raw, 1)
        # Behind the index, a number of one byte or with bytes behind its kind.
        at = 9 + len(head)
        at += 1 if raw[at] == 0x29 else 2 + raw[at] - 0x2B
        if raw[at] not in (0x6E, 0x6F) or raw[-1:] != _END:
            raise IndexError("no end")
        is_invalidate = raw[at] == 0x6F
        has_collection = raw[at + 1] == 0x5A
        # Behind the UUID a key or an identifier, which ends with 0, and the number of a fragment.
        end = at + 1 + (3 + 16 if has_collection else 1)
        is_fragment = end < len(raw) - 1 and raw[-2] != 0
    except IndexError as error:
        raise CommandError(15, "KeyString format error: Unexpected end of input") from error
    time = Timestamp(seconds, increment)
    version = 0 if is_opaque else version
    is_event = kind == _EVENT
    return Position(
        {**token, "_data": data.upper()},
        version,
        time,
        is_event,
        is_invalidate,
        is_of_collection=has_collection or not is_event,
        is_fragment=is_event and is_fragment,
    )
