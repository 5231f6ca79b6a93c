"""Resume tokens: their text forms and cluster times, and the tokens and times of raw events.

`_data` is a hexadecimal key string, so the tokens of a stream sort as text. It starts with the
cluster time. A *high-water mark*, a token without an event, contains only this time. The token also
has a binary `_typeBits` if the document key contains a number that is not an int32. The agent
must return `_typeBits` to the server unchanged.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bson
from bson import json_util
from bson.errors import BSONError

from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents

Token = Mapping[str, Any]

# The key string's type byte of a timestamp; the token's version, 1 or 2, and its kind.
_TIMESTAMP = "82"
_HIGH_WATER_MARKS = ("2B0229", "2B0429")
_TIME_DIGITS = 16
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
NO_EVENTS = ChangeEvents()


@dataclass(frozen=True, slots=True)
class TokenParts:
    time: ClusterTime
    is_high_water_mark: bool


def token_to_json(token: Token) -> str:
    """Format a token as extended JSON: `{"_data": "8265C0…"}`."""
    return json_util.dumps(token, json_options=json_util.CANONICAL_JSON_OPTIONS)


def token_from_json(text: str) -> Token:
    """Parse extended JSON. Raises ValueError for text that is not an object."""
    token = json_util.loads(text)
    if not isinstance(token, dict):
        raise ValueError("the token is not an object")
    return token


def token_from_text(text: str) -> Token:
    """Parse a token as other tools print it: `_data`, extended JSON, or base64 of its BSON.

    Raises ValueError for anything else.
    """
    text = text.strip()
    if _HEXADECIMAL.fullmatch(text):
        return {"_data": text.upper()}
    if text.startswith("{"):
        return token_from_json(text)
    try:
        return bson.decode(base64.b64decode(text, validate=True))
    except BSONError as error:
        raise ValueError(f"it is base64, but not BSON: {error}") from error


def read_token(token: Token) -> TokenParts:
    """Parse a token. Raises ValueError for opaque tokens, such as Amazon DocumentDB's."""
    data = token.get("_data")
    digits = len(_TIMESTAMP) + _TIME_DIGITS
    if not isinstance(data, str) or not data.startswith(_TIMESTAMP) or len(data) < digits:
        raise ValueError(f"the resume token {token!r} does not begin with a cluster time")
    try:
        time = bytes.fromhex(data[len(_TIMESTAMP) : digits])
    except ValueError as error:
        raise ValueError(f"the resume token {token!r} is not hexadecimal") from error
    return TokenParts(
        ClusterTime(int.from_bytes(time[:4]), int.from_bytes(time[4:])),
        data[digits:].upper().startswith(_HIGH_WATER_MARKS),
    )


class UnreadableEventError(ValueError):
    """An event is damaged or incomplete."""


def token_at(events: ChangeEvents, index: int) -> Token:
    """Return the resume token of an event. Raises `UnreadableEventError` if it has none."""
    token = events.token(index)
    if token is None:
        raise UnreadableEventError("an event without `_id`: its bytes are damaged")
    try:
        return bson.decode(token)
    except BSONError as error:
        raise UnreadableEventError(f"an event with the token {token!r}: {error}") from error


def time_at(events: ChangeEvents, index: int) -> ClusterTime:
    """Return the cluster time of an event. Raises `UnreadableEventError` if it has none."""
    time = events.time(index)
    if time is None:
        raise UnreadableEventError("an event without a cluster time: its bytes are damaged")
    return ClusterTime(*time)
