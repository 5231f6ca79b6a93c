"""Reading a collection by its `_id`s: bounds, and the documents between two of them.

Bounds are those of the index (`min`, `max`, `hint`), which know every type and its order, so a
collection whose `_id`s are of many types loses none; conditions such as `$gt` stay within one type.
The server compares bounds by the collation that the collection has.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from bson import CodecOptions, Timestamp
from bson.raw_bson import RawBSONDocument
from pymongo.client_session import ClientSession
from pymongo.command_cursor import CommandCursor

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.documents.document_id import id_document
from mongo_agent.documents.filters import parse_filter
from mongo_agent.server.sessions import new_session
from mongo_agent.snapshot.collections import Client, exists
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot
from mongo_agent.snapshot.settings import SnapshotSettings

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_FIELD = {"_id": 1}


@dataclass(frozen=True, slots=True)
class ChunkBounds:
    """Bounds behind those that are known; `is_whole`: behind them fewer than a chunk follow."""

    bounds: tuple[bytes, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class ChunkDocuments:
    """Raw documents of a chunk, in order. `rest_from` is where the part of the chunk begins that
    was not read. `read_at_ms` is the wall time, `read_to` the cluster time behind the read.
    `is_gone`: there is no such collection any more."""

    documents: tuple[bytes, ...]
    rest_from: bytes | None
    read_at_ms: int
    read_to: ClusterTime
    is_gone: bool = False


class ReadingStoppedError(Exception):
    """The agent stops; what was read is of no use any more."""


class CollectionReader:
    """Used by several threads. Every method raises `PyMongoError` as it comes."""

    def __init__(self, client: Client, settings: SnapshotSettings) -> None:
        self._client = client
        self._settings = settings
        self._is_closed = threading.Event()

    def close(self) -> None:
        """What is being read stops at the next document."""
        self._is_closed.set()

    def bounds(self, copy: CollectionSnapshot, limit: int) -> ChunkBounds:
        """Walk over the index from where planning has come to, at most `limit` chunks. Chunks need
        not be equal, so it matters little what changes meanwhile."""
        found: list[bytes] = []
        lower = copy.planned_to
        while len(found) < limit:
            command = {**_find(copy, lower), "projection": _FIELD, "limit": 1}
            command["skip"] = self._settings.chunk_size
            with self._session() as session, self._run(copy, command, session) as cursor:
                upper = next(iter(cursor), None)
            if upper is None:
                return ChunkBounds(tuple(found), is_whole=True)
            lower = bytes(upper.raw)
            found.append(lower)
        return ChunkBounds(tuple(found), is_whole=False)

    def at(self, copy: CollectionSnapshot, chunk: Chunk, point: ClusterTime) -> ChunkDocuments:
        """The documents of a chunk as they were at a cluster time."""
        concern = {"level": "snapshot", "atClusterTime": _timestamp(point)}
        return self._read(copy, chunk, concern)

    def since(self, copy: CollectionSnapshot, chunk: Chunk, point: ClusterTime) -> ChunkDocuments:
        """The documents of a chunk, each as it was at some time between a cluster time and
        `read_to`."""
        concern = {"level": "majority", "afterClusterTime": _timestamp(point)}
        return self._read(copy, chunk, concern)

    def _read(
        self, copy: CollectionSnapshot, chunk: Chunk, concern: dict[str, Any]
    ) -> ChunkDocuments:
        limit = 2 * self._settings.chunk_size
        command = _find(copy, chunk.lower)
        if chunk.upper is not None:
            command["max"] = RawBSONDocument(chunk.upper)
        if copy.filter is not None:
            command["filter"] = parse_filter(copy.filter)
        # One more tells whether there is more, and where it begins.
        command["limit"] = limit + 1
        command["batchSize"] = self._settings.fetch_size or limit + 1
        command["readConcern"] = concern
        read_at_ms = time.time_ns() // 1_000_000
        with self._session() as session, self._run(copy, command, session) as cursor:
            if self._settings.fetch_size:
                cursor.batch_size(self._settings.fetch_size)
            documents, rest_from = self._taken((bytes(each.raw) for each in cursor), limit)
            read_to = self._cluster_time(session)
        is_gone = not documents and not exists(self._client, copy.database, copy.collection)
        return ChunkDocuments(documents, rest_from, read_at_ms, read_to, is_gone)

    def _taken(self, found: Iterable[bytes], limit: int) -> tuple[tuple[bytes, ...], bytes | None]:
        documents: list[bytes] = []
        size_bytes = 0
        for document in found:
            if self._is_closed.is_set():
                raise ReadingStoppedError
            if documents and (len(documents) == limit or size_bytes > self._settings.chunk_bytes):
                return tuple(documents), id_document(document)
            documents.append(document)
            size_bytes += len(document)
        return tuple(documents), None

    @contextmanager
    def _session(self) -> Iterator[ClientSession | None]:
        with new_session(self._client) or nullcontext() as session:
            yield session

    def _run(
        self, copy: CollectionSnapshot, command: dict[str, Any], session: ClientSession | None
    ) -> CommandCursor[RawBSONDocument]:
        """A cursor goes on where it began, also when any member may be read from."""
        database = self._client.get_database(copy.database, codec_options=_RAW)
        return database.cursor_command(
            command,
            read_preference=self._client.read_preference,
            codec_options=_RAW,
            session=session,
        )

    def _cluster_time(self, session: ClientSession | None) -> ClusterTime:
        """That of the last reply in a session; without one that of a reply behind it."""
        if session is None:
            preference = self._client.read_preference
            told = self._client.admin.command("ping", read_preference=preference)
            reached = told.get("operationTime")
        else:
            reached = session.operation_time
        return ClusterTime(0, 0) if reached is None else ClusterTime(reached.time, reached.inc)


def _find(copy: CollectionSnapshot, lower: bytes | None) -> dict[str, Any]:
    command: dict[str, Any] = {"find": copy.collection, "hint": copy.hint}
    if lower is not None:
        command["min"] = RawBSONDocument(lower)
    return command


def _timestamp(point: ClusterTime) -> Timestamp:
    return Timestamp(point.second, point.increment)
