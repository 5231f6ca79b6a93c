"""Deletes of documents that exist only in the topic of a replaced collection.

A thread reads the topic and collects the keys of documents that it does not delete. At a point of
the stream, the agent queries the server for their `_id`s and publishes a delete for each missing
`_id`. The stream waits meanwhile, so a later insert of such an `_id` follows its delete.

Memory is bounded: if there are too many keys, the sweep reads the topic once for each share.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import bson
import orjson
from bson import Timestamp
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo.errors import PyMongoError

from mongo_agent.documents import ABSENT, ClusterTime, document_state, parse_extended_json
from mongo_agent.encoder import MongoBatch, MongoEncoder
from mongo_agent.server.errors import error_text
from mongo_agent.snapshot.collection_reader import CollectionReader, ReadingStoppedError
from mongo_agent.snapshot.records import CollectionSnapshot, ReplacedCollection, SnapshotReason
from sidecar.errors import SidecarError
from sidecar.sinks.kafka.topics.reader import TopicRecord

logger = logging.getLogger(__name__)

Records = Callable[[str, str], Iterable[TopicRecord]]
"""The records in the topic of a database and collection, in order. Raises `SidecarError`."""
Submit = Callable[[Callable[[], Any]], Future[Any]]

_BATCH = 1000
_MOST_KEYS = 200_000
_RETRY_S = 10.0


@dataclass(frozen=True, slots=True)
class SweptBatch:
    """Deletes of a replaced collection; `is_last`: the topic has no further documents to delete."""

    entry: ReplacedCollection
    deletes: MongoBatch
    is_last: bool


class TopicSweep:
    """Sweeps one topic at a time: `settle`, then `begin` at a point, then `take`."""

    def __init__(
        self,
        reader: CollectionReader,
        encoder: MongoEncoder,
        records: Records | None,
        submit: Submit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without `records`, the sweep does nothing. `submit` runs a function on a thread."""
        self._reader = reader
        self._encoder = encoder
        self._records = records
        self._submit = submit
        self._clock = clock
        self._retry_at_s = clock()
        self._closed = threading.Event()
        self._entry: ReplacedCollection | None = None
        self._batches: Iterator[list[bytes]] = iter(())
        self._keys: Future[list[bytes]] | None = None
        self._deletes: Future[SweptBatch] | None = None
        self.error = ""
        """Why the last attempt failed; empty after a success."""

    @property
    def is_ready(self) -> bool:
        """Whether the next keys are ready for `begin`."""
        return self._deletes is None and self._keys is not None and self._keys.done()

    @property
    def is_reading(self) -> bool:
        """Whether the stream must wait."""
        return self._deletes is not None

    def settle(self, wanted: Sequence[ReplacedCollection]) -> None:
        """Read ahead in the topic of a wanted collection; abandon a collection no longer wanted."""
        if self._records is None or self._deletes is not None:
            return
        if self._entry is not None and self._entry not in wanted:
            self._entry = self._keys = None
        if self._entry is None:
            if not wanted or self._clock() < self._retry_at_s:
                return
            self._entry = wanted[0]
            self._batches = live_keys(self._until_closed, self._entry)
        if self._keys is None:
            batches = self._batches
            self._keys = self._submit(lambda: next(batches, []))

    def close(self) -> None:
        """Stop reading at the next record."""
        self._closed.set()

    def _until_closed(self, database: str, collection: str) -> Iterator[TopicRecord]:
        assert self._records is not None
        for record in self._records(database, collection):
            if self._closed.is_set():
                raise ReadingStoppedError
            yield record

    def begin(self, point: ClusterTime) -> None:
        """Query the server for the next documents, after all events up to a point."""
        entry, ready = self._entry, self._keys
        assert entry is not None
        assert ready is not None
        self._deletes = self._submit(lambda: self._sweep(entry, ready.result(), point))

    def take(self) -> SweptBatch | None:
        """Return the deletes once they are encoded, else None."""
        if self._deletes is None or not self._deletes.done():
            return None
        done, self._deletes, self._keys = self._deletes, None, None
        try:
            swept = done.result()
        except (BSONError, PyMongoError, SidecarError, ValueError) as error:
            self._entry, self._retry_at_s = None, self._clock() + _RETRY_S
            self.error = error_text(error) if isinstance(error, PyMongoError) else str(error)
            logger.warning("deletes of a replaced collection wait: %s", self.error)
            return None
        self.error = ""
        if swept.is_last:
            self._entry = None
            logger.info("%s follows its collection again", swept.entry.namespace)
        return swept

    def _sweep(
        self, entry: ReplacedCollection, keys: list[bytes], point: ClusterTime
    ) -> SweptBatch:
        ids = {key: found for key in keys for found in _id_of(key)}
        named = CollectionSnapshot(0, entry.database, entry.collection, SnapshotReason.SIGNAL)
        present = self._reader.read_present(named, list(ids.values()), point) if ids else []
        found = self._delete(entry, present, point)
        # Two ids that are equal under a collation have different keys.
        known = {key for _, key, _, _, _ in found.messages(0, len(found))}
        gone = [bson.encode({"_id": each}) for key, each in ids.items() if key not in known]
        return SweptBatch(entry, self._delete(entry, gone, point), not keys)

    def _delete(
        self, entry: ReplacedCollection, documents: Iterable[bytes], point: ClusterTime
    ) -> MongoBatch:
        namespace = {"db": entry.database, "coll": entry.collection}
        time = Timestamp(point.second, point.increment)
        change = {"_id": {"_data": ""}, "operationType": "delete", "clusterTime": time}
        change["ns"] = namespace
        return self._encoder.encode(
            [bson.encode({**change, "documentKey": RawBSONDocument(each)}) for each in documents]
        )


def live_keys(
    records: Records, entry: ReplacedCollection, most: int = _MOST_KEYS
) -> Iterator[list[bytes]]:
    """Yield the keys of documents that a collection's topic does not delete, in bounded lists.

    Raises `SidecarError`.
    """
    shares = [(0, 1)]
    while shares:
        rest, of = shares.pop()
        live = _live(records(entry.database, entry.collection), entry.namespace, rest, of, most)
        if live is None:
            shares += [(rest, 2 * of), (rest + of, 2 * of)]
            continue
        keys = list(live)
        for start in range(0, len(keys), _BATCH):
            yield keys[start : start + _BATCH]


def _live(
    records: Iterable[TopicRecord], namespace: str, rest: int, of: int, most: int
) -> set[bytes] | None:
    """Return the live keys of a share, or None if there are more than `most`."""
    live: set[bytes] = set()
    for record in records:
        key = record.key or b""
        if crc32(key) % of != rest:
            continue
        try:
            state = document_state(record.value, record.headers)
        except ValueError as error:
            raise SidecarError(
                f"The topic of {namespace} does not contain JSON, so the agent cannot publish "
                "deletes. Delete the documents in the target, and start the agent with "
                "`collection.replaced.policy=skip`."
            ) from error
        if state is None or state.collection != namespace:
            continue
        if state.state == ABSENT:
            live.discard(key)
        else:
            live.add(key)
            if len(live) > most:
                return None
    return live


def _id_of(key: bytes) -> Iterator[Any]:
    """Yield the `_id` in a message key, if it can be converted back."""
    try:
        document = orjson.loads(key)
        yield parse_extended_json(document.get("payload", document)["id"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        logger.warning("a key of a topic is no `_id`; its document stays: %r: %s", key, error)
