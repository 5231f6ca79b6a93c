"""Snapshot windows for chunks that cannot be read at a cluster time.

A read starts after a point of the stream and ends at a cluster time that the server returns. A
document without an event between the two did not change, so the agent delivers it once the stream
has passed that time; events deliver the other documents. The agent writes nothing to the source.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.capture.match_stage import CHANGES
from mongo_agent.encoder import id_document

_HARMLESS = (
    *("create", "createIndexes", "dropIndexes", "modify", "endOfTransaction"),
    *("shardCollection", "refineCollectionShardKey", "reshardBegin", "reshardCollection"),
)
"""Types of events that change no document. Resharding moves documents without events of them."""


@dataclass(frozen=True, slots=True)
class EventScope:
    """What an event affects: by default one document, identified by its raw `{_id: …}`.

    If members are None, it affects a whole collection, a whole database, or everything.
    """

    database: str | None
    collection: str | None
    document: bytes | None


def touches(event: bytes) -> Iterator[EventScope]:
    """Yield what a raw change event affects."""
    try:
        raw = RawBSONDocument(event)
        operation, ns, key = raw.get("operationType"), raw.get("ns"), raw.get("documentKey")
        if operation in _HARMLESS:
            return
        if operation in CHANGES and ns is not None and key is not None:
            yield EventScope(ns["db"], ns["coll"], id_document(key.raw))
            return
        for names in (ns, raw.get("to")):
            if names is not None:
                yield EventScope(names.get("db"), names.get("coll"), None)
        if ns is None:
            # Later parts of a split event, and invalidations, contain no collection name.
            yield EventScope(None, None, None)
    except (InvalidBSON, KeyError, ValueError):
        yield EventScope(None, None, None)


@dataclass
class Window:
    """A chunk between the start of its read and its delivery."""

    database: str
    collection: str
    touched: set[bytes] = field(default_factory=set)
    is_void: bool = False

    def pass_over(self, touch: EventScope) -> None:
        """Record an event of the stream."""
        if touch.database not in (None, self.database):
            return
        if touch.collection not in (None, self.collection):
            return
        if touch.document is None:
            # The collection was dropped or renamed; the chunk is read again.
            self.is_void = True
        else:
            self.touched.add(touch.document)

    def untouched(self, documents: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return the documents without an event."""
        if not self.touched:
            return documents
        return tuple(each for each in documents if id_document(each) not in self.touched)
