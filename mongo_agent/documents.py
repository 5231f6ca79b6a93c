"""MongoDB values: cluster times, extended JSON, and states of documents in records."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson
from bson import DatetimeConversion, Timestamp, json_util
from bson.errors import BSONError

_LAST_INCREMENT = 2**32 - 1
_MAX_LENGTH = 1 << 20
_OPTIONS = json_util.JSONOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
"""Python's dates only cover the years 1 to 9999."""
MAX_DEPTH = 100
"""The server's limit on nested levels."""
ABSENT = b""
UNKNOWN = b"?"
"""The document exists, but the record does not contain it."""
_DIGEST_BYTES = 16
_KIND, _SOURCE = "cdc.kind", "cdc.source"
_OF_DOCUMENTS = frozenset({"insert", "update", "replace", "delete", "read"})
_OPERATIONS = frozenset({"c", "u", "d", "r"})


@dataclass(frozen=True, slots=True, order=True)
class ClusterTime:
    """An oplog time: seconds since 1970, and the number of the entry in that second."""

    second: int
    increment: int

    @property
    def before(self) -> "ClusterTime":
        if self.increment > 0:
            return ClusterTime(self.second, self.increment - 1)
        return ClusterTime(max(0, self.second - 1), _LAST_INCREMENT)

    @property
    def after(self) -> "ClusterTime":
        if self.increment < _LAST_INCREMENT:
            return ClusterTime(self.second, self.increment + 1)
        return ClusterTime(self.second + 1, 0)

    @property
    def timestamp(self) -> Timestamp:
        """The BSON value."""
        return Timestamp(self.second, self.increment)

    def __str__(self) -> str:
        return f"{self.second}:{self.increment}"


NEVER = ClusterTime(0, 0)
"""A time before all entries of an oplog."""


def parse_extended_json(text: str | bytes) -> Any:
    """Parse extended JSON. Raises ValueError."""
    try:
        found = json_util.loads(_bounded(text), json_options=_OPTIONS)
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON ({error.msg} at column {error.colno})") from error
    except (BSONError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise ValueError(f"invalid extended JSON ({error})") from error
    except RecursionError as error:
        raise ValueError(f"more than {MAX_DEPTH} nested levels") from error
    return check_depth(found)


def parse_filter(text: str) -> dict[str, Any]:
    """Parse a snapshot filter. Raises ValueError."""
    document = parse_extended_json(text)
    if not isinstance(document, dict):
        raise ValueError("not a document")
    return document


def parse_json(text: str | bytes) -> Any:
    """Parse plain JSON. Raises ValueError."""
    try:
        return check_depth(json.loads(_bounded(text)))
    except RecursionError as error:
        raise ValueError(f"more than {MAX_DEPTH} nested levels") from error


def _bounded(text: str | bytes) -> str | bytes:
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"more than {_MAX_LENGTH} characters")
    return text


def check_depth(value: Any) -> Any:
    """Return the value. Raises ValueError for more than `MAX_DEPTH` levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [each for one in level for each in _members(one)]
        if not level:
            return value
    raise ValueError(f"more than {MAX_DEPTH} nested levels")


def _members(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


Headers = Iterable[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class DocumentState:
    """The state of a document in `collection`, a `database.collection`.

    `changed_at` is None for snapshot documents and for records without a cluster time.
    """

    collection: str
    state: bytes
    changed_at: ClusterTime | None = None


def document_state(value: bytes | None, headers: Headers) -> DocumentState | None:
    """Parse a record; return None for tombstones and records without a document.

    Raises ValueError for a value that is not JSON.
    """
    if value is None:
        return None
    named = dict(headers)
    kind = named.get(_KIND, b"").decode()
    if kind and kind not in _OF_DOCUMENTS:
        return None
    document = orjson.loads(value)
    if not isinstance(document, dict):
        return None
    event = document.get("payload", document)
    if isinstance(event, str):
        # With a schema the native event is a string.
        event = orjson.loads(event)
    if "operationType" in event:
        return _of_native(event, _time(named))
    if event.get("op") not in _OPERATIONS:
        return None
    source = event["source"]
    collection = f"{source['db']}.{source['collection']}"
    if event["op"] == "d":
        return DocumentState(collection, ABSENT, _time(named))
    after = event.get("after")
    state = UNKNOWN if after is None else digest(after.encode())
    return DocumentState(collection, state, None if event["op"] == "r" else _time(named))


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _of_native(event: Mapping[str, Any], time: ClusterTime | None) -> DocumentState | None:
    names = event.get("ns", {})
    if "documentKey" not in event:
        return None
    collection = f"{names.get('db')}.{names.get('coll')}"
    if event["operationType"] == "delete":
        return DocumentState(collection, ABSENT, time)
    document = event.get("fullDocument")
    state = UNKNOWN if document is None else digest(orjson.dumps(document))
    is_snapshot = bool(event.get("_id", {}).get("copyingData"))
    return DocumentState(collection, state, None if is_snapshot else time)


def _time(headers: Mapping[str, bytes]) -> ClusterTime | None:
    """Parse the cluster time in `node/replica set/seconds.increment/index`."""
    parts = headers.get(_SOURCE, b"").decode(errors="replace").rsplit("/", 2)
    seconds, _, increment = parts[-2].partition(".") if len(parts) > 1 else ("", "", "")
    if not (seconds.isdecimal() and increment.isdecimal()):
        return None
    return ClusterTime(int(seconds), int(increment))
