"""Reads of a collection in `_id` order: bounds of chunks, and documents between bounds.

Bounds are index bounds (`min`, `max`, `hint`), which order values of all types, so reads miss no
document of a collection with mixed `_id` types; conditions such as `$gt` stay within one type. The
server compares bounds with the collation of the collection. For a server without index bounds, the
reader uses conditions for each type (`id_ranges`). Every read requests its order explicitly: a
mongos returns documents as its shards answer, and no server guarantees the order of a hinted index.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import ReadPreference
from pymongo.client_session import ClientSession
from pymongo.command_cursor import CommandCursor
from pymongo.errors import OperationFailure, PyMongoError, ServerSelectionTimeoutError

from mongo_agent.documents import NEVER, ClusterTime, parse_filter
from mongo_agent.encoder import id_document
from mongo_agent.server.commands import (
    RAW,
    Client,
    checked_time,
    decode_replies,
    new_session,
    operation_time,
)
from mongo_agent.server.errors import MEMORY_LIMIT_CODES
from mongo_agent.snapshot.collections import exists
from mongo_agent.snapshot.id_ranges import conditions, index_bounds
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot
from mongo_agent.snapshot.settings import SnapshotSettings
from sidecar.fetch_size import FetchSize

_FIELD = {"_id": 1}
_EMPTY_RANGE = 51175
"""The server's code for a `min` that is not before `max`."""
_BOUND_TRIES = 12
_MOST_OF_ONE_ID = 128
"""More documents with one `_id` than a cluster has shards, so a bound this far away differs."""


@dataclass(frozen=True, slots=True)
class ChunkBounds:
    """The next bounds of chunks; `is_whole`: less than one chunk follows the last bound."""

    bounds: tuple[bytes, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class ChunkDocuments:
    """Raw documents of a chunk, in order.

    `rest_from` is the start of the unread part of the chunk. `read_at_ms` is the wall time of the
    read, `read_to` the cluster time after it. `gone_at` is set if the collection does not exist.
    """

    documents: tuple[bytes, ...]
    rest_from: bytes | None
    read_at_ms: int
    read_to: ClusterTime
    gone_at: ClusterTime | None = None


class ReadingStoppedError(Exception):
    """The agent is stopping; the read is abandoned."""


class CollectionReader:
    """Thread-safe. Every method raises `PyMongoError`."""

    def __init__(self, client: Client, settings: SnapshotSettings) -> None:
        self._client = client
        self._settings = settings
        self._read_preference = (
            client.read_preference if settings.has_index_bounds else ReadPreference.PRIMARY
        )
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
        self._sizes: dict[str, FetchSize] = {}

    def close(self) -> None:
        """Stop running reads at the next document."""
        self._is_closed.set()

    def find_bounds(self, snapshot: CollectionSnapshot, limit: int) -> ChunkBounds:
        """Scan the index for the bounds of at most `limit` further chunks.

        Chunks may differ in size, so concurrent changes are harmless.
        """
        found: list[bytes] = []
        lower = snapshot.planned_to
        while len(found) < limit:
            upper = self._find_bound(snapshot, lower)
            if upper is None:
                return ChunkBounds(tuple(found), is_whole=True)
            found.append(upper)
            lower = upper
        return ChunkBounds(tuple(found), is_whole=False)

    def _find_bound(self, snapshot: CollectionSnapshot, lower: bytes | None) -> bytes | None:
        """Find the next bound after `lower`, or None.

        Several shards may have documents with the same `_id`, and an index value may differ from
        the document's value. The reader therefore searches again for a bound not after `lower`.
        """
        skip = self._settings.chunk_size
        for _ in range(_BOUND_TRIES):
            upper = self._find_first_id(snapshot, lower, None, skip=skip)
            if upper is None or lower is None:
                return upper
            if skip >= _MOST_OF_ONE_ID and upper != lower:
                return upper
            if self._find_first_id(snapshot, lower, upper) is not None:
                _require_progress(snapshot, lower, upper)
                return upper
            skip *= 2
        raise PyMongoError(f"no bound of {snapshot.namespace} follows {lower!r}")

    def _find_first_id(
        self, snapshot: CollectionSnapshot, lower: bytes | None, upper: bytes | None, **options: Any
    ) -> bytes | None:
        options |= {"projection": _FIELD, "limit": 1}
        for command in self._finds(snapshot, lower, upper):
            with self._session() as session:
                found = self._find(snapshot, [{**command, **options}], session)
                if (place := next(found, None)) is not None:
                    return place
        return None

    def read_at(
        self, snapshot: CollectionSnapshot, chunk: Chunk, point: ClusterTime
    ) -> ChunkDocuments:
        concern = {"level": "snapshot", "atClusterTime": point.timestamp}
        return self._read(snapshot, chunk, concern)

    def read_since(
        self, snapshot: CollectionSnapshot, chunk: Chunk, point: ClusterTime
    ) -> ChunkDocuments:
        """Read the documents of a chunk, each as of some time between `point` and `read_to`."""
        if self._settings.has_index_bounds:
            concern = {"level": "majority", "afterClusterTime": point.timestamp}
            return self._read(snapshot, chunk, concern)
        # The primary has what a stream has returned, except briefly after an election.
        read = self._read(snapshot, chunk, None)
        if read.read_to < point:
            raise PyMongoError(f"the server's time {read.read_to} is before the stream's, {point}")
        return read

    def read_present(
        self, snapshot: CollectionSnapshot, ids: Sequence[Any], point: ClusterTime
    ) -> list[bytes]:
        """Read the raw `{_id: …}` of documents with these `_id`s, as of a time after a point."""
        command: dict[str, Any] = {"find": snapshot.collection, "projection": _FIELD}
        command |= {"filter": {"_id": {"$in": list(ids)}}, "limit": 2**31 - 1}
        if self._settings.has_index_bounds:
            command["readConcern"] = {"level": "majority", "afterClusterTime": point.timestamp}
        with self._session() as session:
            found = list(self._find(snapshot, [command], session))
            read_to = self._cluster_time(session)
        if read_to < point:
            raise PyMongoError(f"the server's time {read_to} is before the stream's, {point}")
        return found

    def _read(
        self, snapshot: CollectionSnapshot, chunk: Chunk, concern: dict[str, Any] | None
    ) -> ChunkDocuments:
        limit = 2 * self._settings.chunk_size
        reads = {} if concern is None else {"readConcern": concern}

        def is_after(one: bytes, other: bytes) -> bool:
            return self._find_first_id(snapshot, one, other, **reads) is not None

        read_at_ms = time.time_ns() // 1_000_000
        with self._session() as session:
            finds = self._finds(snapshot, chunk.lower, chunk.upper, snapshot.filter)
            found = self._find(snapshot, ({**each, **reads} for each in finds), session)
            with closing(found):
                documents, rest_from = self._take(found, limit, is_after)
            read_to = self._cluster_time(session)
        if rest_from is not None:
            _require_progress(snapshot, chunk.lower, rest_from)
        gone_at = None
        if not documents and not exists(self._client, snapshot.database, snapshot.collection):
            gone_at = self.cluster_time()
        return ChunkDocuments(documents, rest_from, read_at_ms, read_to, gone_at)

    def _finds(
        self,
        snapshot: CollectionSnapshot,
        lower: bytes | None,
        upper: bytes | None,
        query: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield commands that together return the documents between the bounds, in order."""
        command: dict[str, Any] = {"find": snapshot.collection, "sort": _FIELD}
        chosen = None if query is None else parse_filter(query)
        if self._settings.has_index_bounds:
            command["hint"] = snapshot.hint
            ranges = index_bounds(lower, upper)
        else:
            ranges = ({"filter": each} for each in conditions(lower, upper))
        for each in ranges:
            wanted = [part for part in (chosen, each.pop("filter", None)) if part is not None]
            if wanted:
                each["filter"] = wanted[0] if len(wanted) == 1 else {"$and": wanted}
            yield command | each

    def _find(
        self,
        snapshot: CollectionSnapshot,
        commands: Iterable[dict[str, Any]],
        session: ClientSession | None,
    ) -> Generator[bytes, None, None]:
        for command in commands:
            try:
                if "limit" in command:
                    with self._run(snapshot, command, session) as cursor:
                        yield from _documents(cursor)
                else:
                    yield from self._replies(snapshot, command, session)
            except OperationFailure as error:
                if error.code != _EMPTY_RANGE:
                    raise

    def _replies(
        self, snapshot: CollectionSnapshot, command: dict[str, Any], session: ClientSession | None
    ) -> Generator[bytes, None, None]:
        """Read documents in replies, and adapt the size of replies to the documents."""
        asked = self._size(snapshot).rows
        try:
            with self._run(snapshot, {**command, "batchSize": asked}, session) as cursor:
                cursor.batch_size(asked)
                count = size_bytes = 0
                for document in _documents(cursor):
                    count, size_bytes = count + 1, size_bytes + len(document)
                    if count == asked:
                        after = partial(FetchSize.after, rows=count, size_bytes=size_bytes)
                        asked = self._adapt(snapshot, after)
                        cursor.batch_size(asked)
                        count = size_bytes = 0
                    yield document
        except ServerSelectionTimeoutError:
            raise
        except PyMongoError as error:
            code = error.code if isinstance(error, OperationFailure) else None
            if error.timeout or code is None or code in MEMORY_LIMIT_CODES:
                # The reply may be too large for the server or the network.
                self._adapt(snapshot, partial(FetchSize.failed, asked=asked))
            raise

    def _size(self, snapshot: CollectionSnapshot) -> FetchSize:
        return self._sizes.get(snapshot.namespace) or self._settings.first_size

    def _adapt(self, snapshot: CollectionSnapshot, change: Callable[[FetchSize], FetchSize]) -> int:
        """Change the size of replies for all threads; return the documents in the next reply."""
        with self._lock:
            size = self._sizes[snapshot.namespace] = change(self._size(snapshot))
        return size.rows

    def _take(
        self, found: Iterable[bytes], limit: int, is_after: Callable[[bytes, bytes], bool]
    ) -> tuple[tuple[bytes, ...], bytes | None]:
        documents: list[bytes] = []
        size_bytes = 0
        for document in found:
            if self._is_closed.is_set():
                raise ReadingStoppedError
            if len(documents) >= limit or (documents and size_bytes > self._settings.chunk_bytes):
                # Documents on several shards may share an `_id`, and must stay in one range. Only
                # the server can compare two `_id`s: numbers have types, texts a collation.
                with decode_replies():
                    last, rest_from = id_document(documents[-1]), id_document(document)
                if last != rest_from and is_after(last, rest_from):
                    return tuple(documents), rest_from
            documents.append(document)
            size_bytes += len(document)
        return tuple(documents), None

    @contextmanager
    def _session(self) -> Iterator[ClientSession | None]:
        with new_session(self._client) or nullcontext() as session:
            yield session

    def _run(
        self, snapshot: CollectionSnapshot, command: dict[str, Any], session: ClientSession | None
    ) -> CommandCursor[RawBSONDocument]:
        """Open a cursor; the driver keeps it on one server."""
        database = self._client.get_database(snapshot.database, codec_options=RAW)
        with decode_replies():
            return database.cursor_command(
                command, read_preference=self._read_preference, codec_options=RAW, session=session
            )

    def cluster_time(self) -> ClusterTime:
        """Query the time of the primary, or zero if it reports none. The primary lists collections,
        and a secondary may lag behind the list."""
        with decode_replies():
            reply = self._client.admin.command("ping", read_preference=ReadPreference.PRIMARY)
            return operation_time(reply) or NEVER

    def _cluster_time(self, session: ClientSession | None) -> ClusterTime:
        """Return the time of the last reply in the session; without a session, query the time."""
        if session is None:
            return self.cluster_time()
        with decode_replies():
            return checked_time(session.operation_time, session.cluster_time) or NEVER


def _require_progress(snapshot: CollectionSnapshot, lower: bytes | None, upper: bytes) -> None:
    """Raise `PyMongoError` if the server ignores bounds, because a snapshot would never end."""
    if upper == lower:
        raise PyMongoError(
            f"the server ignores `min` with the hint {snapshot.hint} in {snapshot.namespace}"
        )


def _documents(cursor: CommandCursor[RawBSONDocument]) -> Iterator[bytes]:
    with decode_replies():
        for document in cursor:
            yield bytes(document.raw)
