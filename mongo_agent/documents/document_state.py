"""The state of a document in a record: a digest of its content, absent, or unknown. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from mongo_agent.documents.cluster_time import ClusterTime

ABSENT = b""
UNKNOWN = b"?"
"""The document exists, but the record does not contain it."""

_DIGEST_BYTES = 16
_KIND, _SOURCE = "cdc.kind", "cdc.source"
_OF_DOCUMENTS = frozenset({"insert", "update", "replace", "delete", "read"})
_OPERATIONS = frozenset({"c", "u", "d", "r"})

Headers = Iterable[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class DocumentState:
    """The state of a document of `collection`, `database.collection`.

    `changed_at` is None for snapshot documents and for records without a cluster time.
    """

    collection: str
    state: bytes
    changed_at: ClusterTime | None = None


def document_state(value: bytes | None, headers: Headers) -> DocumentState | None:
    """Parse a record; None for tombstones and records without a document.

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
