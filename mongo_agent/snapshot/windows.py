"""The copy of a chunk that cannot be read at a cluster time, while the stream goes on.

Reading begins behind a point of the stream and ends at a cluster time that the server tells. A
document that no event of the stream touches between the two was the same all the time, so it may be
placed when the stream has passed that time; one that is touched is told by its event. Nothing is
written to the source for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.documents.document_id import id_document
from mongo_agent.snapshot.collection_reader import ChunkDocuments
from mongo_agent.snapshot.records import Chunk

_OF_DOCUMENTS = ("insert", "update", "replace", "delete")
_HARMLESS = ("create", "createIndexes", "dropIndexes", "modify", "shardCollection")


@dataclass(frozen=True, slots=True)
class Touch:
    """What an event changes: a document, by its raw `{_id: …}`, or without `document` everything
    in its collection; without `collection` the whole database, without both anything."""

    database: str | None
    collection: str | None
    document: bytes | None


def touches(event: bytes) -> Iterator[Touch]:
    """What a raw event of a change stream touches."""
    try:
        raw = RawBSONDocument(event)
        operation, ns, key = raw.get("operationType"), raw.get("ns"), raw.get("documentKey")
        if operation in _HARMLESS:
            return
        if operation in _OF_DOCUMENTS and ns is not None and key is not None:
            yield Touch(ns["db"], ns["coll"], id_document(key.raw))
            return
        for names in (ns, raw.get("to")):
            if names is not None:
                yield Touch(names.get("db"), names.get("coll"), None)
        if ns is None:
            # A later part of a split event does not say what it is about, nor does an invalidation.
            yield Touch(None, None, None)
    except (InvalidBSON, KeyError, ValueError):
        yield Touch(None, None, None)


@dataclass
class Window:
    """A chunk between its point and its place. `rows` come when it is read."""

    number: int
    database: str
    collection: str
    chunk: Chunk
    rows: ChunkDocuments | None = None
    touched: set[bytes] = field(default_factory=set)
    is_void: bool = False

    def pass_over(self, touch: Touch) -> None:
        """An event is placed in the stream."""
        if touch.database not in (None, self.database):
            return
        if touch.collection not in (None, self.collection):
            return
        if touch.document is None:
            # The collection went, or became another one: the chunk is read again.
            self.is_void = True
        else:
            self.touched.add(touch.document)

    def has_passed(self, time: ClusterTime) -> bool:
        """Whether all events up to the end of the reading are placed; `time` as of `passed`."""
        return self.rows is not None and self.rows.read_to < time

    def documents(self) -> tuple[bytes, ...]:
        """Those that no event touched."""
        assert self.rows is not None
        if not self.touched:
            return self.rows.documents
        return tuple(each for each in self.rows.documents if id_document(each) not in self.touched)
