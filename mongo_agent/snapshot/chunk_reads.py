"""Chunk reads on threads: the pipeline's thread submits them, the reading thread encodes them."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoEncoder
from mongo_agent.snapshot.collection_reader import (
    ChunkDocuments,
    CollectionReader,
    ReadingStoppedError,
)
from mongo_agent.snapshot.encoding import ChunkPart, encode_chunk
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.windows import Window
from sidecar.encoding import Unregistered

T = TypeVar("T")
WaitForIds = Callable[[Sequence[Unregistered], threading.Event], bool]
"""Waits until each schema has an id or its documents are rejected; False if the event is set."""


@dataclass(frozen=True, slots=True)
class ChunkContent:
    """The documents of a chunk. If the markers are already known, `parts` contains their messages
    instead of the documents."""

    rows: ChunkDocuments
    count: int
    parts: list[ChunkPart] | None = None


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """A submitted read of a chunk; `window` is set for a read without a cluster time."""

    snapshot: CollectionSnapshot
    chunk: Chunk
    future: Future[ChunkContent]
    window: Window | None = None


class ChunkReads:
    """The threads that read chunks. They call `wake` after each read."""

    def __init__(
        self,
        reader: CollectionReader,
        encoder: MongoEncoder,
        threads: int,
        *,
        wake: Callable[[], None],
        wait_for_ids: WaitForIds | None = None,
    ) -> None:
        """`wait_for_ids` is set if schemas depend on documents: in Avro with transformations."""
        self._wait_for_ids = wait_for_ids
        self._closed = threading.Event()
        self._reader = reader
        self._encoder = encoder
        self._wake = wake
        # Two more threads: one plans, and one reads topics.
        self._threads = ThreadPoolExecutor(threads + 2, thread_name_prefix="snapshot")

    def submit(self, run: Callable[[], T]) -> Future[T]:
        future = self._threads.submit(run)
        future.add_done_callback(lambda _: self._wake())
        return future

    def read_at(self, snapshot: CollectionSnapshot, chunk: Chunk, point: ClusterTime) -> ChunkRead:
        future = self.submit(lambda: self._read_at(snapshot, chunk, point))
        return ChunkRead(snapshot, chunk, future)

    def read_since(
        self, snapshot: CollectionSnapshot, chunk: Chunk, time: ClusterTime
    ) -> ChunkRead:
        """Read a chunk after a cluster time, in a window."""
        window = Window(snapshot.database, snapshot.collection)
        future = self.submit(lambda: self._read_since(snapshot, chunk, time))
        return ChunkRead(snapshot, chunk, future, window)

    def close(self) -> None:
        self._closed.set()
        self._reader.close()
        self._threads.shutdown(cancel_futures=True)

    def _read_at(
        self, snapshot: CollectionSnapshot, chunk: Chunk, point: ClusterTime
    ) -> ChunkContent:
        rows = self._reader.read_at(snapshot, chunk, point)
        count = len(rows.documents)
        # Markers of the first and last chunks are known only when earlier chunks are delivered.
        is_initial = snapshot.reason is SnapshotReason.INITIAL
        if is_initial and (snapshot.is_planned or not snapshot.documents):
            self._register(snapshot, rows, point)
            return ChunkContent(rows, count)
        parts = self._encode(snapshot, rows, point)
        return ChunkContent(replace(rows, documents=()), count, parts)

    def _read_since(
        self, snapshot: CollectionSnapshot, chunk: Chunk, time: ClusterTime
    ) -> ChunkContent:
        rows = self._reader.read_since(snapshot, chunk, time)
        self._register(snapshot, rows, time)
        return ChunkContent(rows, len(rows.documents))

    def _register(
        self, snapshot: CollectionSnapshot, rows: ChunkDocuments, time: ClusterTime
    ) -> None:
        """Request the ids of schemas that depend on documents; the pipeline's thread encodes the
        documents later and must not wait."""
        if self._wait_for_ids is not None:
            self._encode(snapshot, rows, time)

    def _encode(
        self, snapshot: CollectionSnapshot, rows: ChunkDocuments, time: ClusterTime
    ) -> list[ChunkPart]:
        while True:
            parts = encode_chunk(self._encoder, snapshot, rows.documents, time, rows.read_at_ms)
            missing = [schema for part in parts for schema in part.batch.unregistered]
            if self._wait_for_ids is None or not missing:
                return parts
            if not self._wait_for_ids(missing, self._closed):
                raise ReadingStoppedError
