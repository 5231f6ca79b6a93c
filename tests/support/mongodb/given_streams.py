"""A stream that has read what a test gives, and a snapshotter that has nothing to do."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from pymongo import MongoClient

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.change_stream.reader import StreamBatch, StreamReader, StreamState
from mongo_agent.documents import ClusterTime
from mongo_agent.pipeline.view import StreamView
from mongo_agent.snapshot.collections import Selected
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    CollectionSnapshot,
    FinishedSnapshot,
    SnapshotOutcome,
    SnapshotRequest,
)
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.snapshotter import Snapshotter
from mongo_agent.snapshot.view import view_of
from sidecar.process.wait_policy import RetryPause
from tests.support.mongodb.encodings import encoder

ENCODER = encoder(topic_prefix="p", node_id="agent-1")


def stream_view(
    name: str = "", *, closed: str = "", has_ended: bool = False, **changed: Any
) -> StreamView:
    """An open stream, or one that is closed for a reason."""
    state = StreamState(not closed, closed or "the stream is read", has_ended=has_ended)
    parts: dict[str, Any] = {
        "snapshot": view_of(SnapshotProgress()),
        "read_time": ClusterTime(995, 1),
    } | changed
    return StreamView(name, state, **parts)


def selected_collection(
    request: SnapshotRequest,
    name: str,
    query: str | None = None,
    *,
    database: str = "shop",
    skipped: str | None = None,
    **details: Any,
) -> Selected:
    """A collection of a request, with details of its snapshot, or with the reason to skip it."""
    if skipped is not None:
        end = SnapshotOutcome.SKIPPED
        return FinishedSnapshot(f"{database}.{name}", request.reason, end, note=skipped)
    reason, signal = request.reason, request.signal
    return CollectionSnapshot(0, database, name, reason, signal, filter=query, **details)


class GivenReader(StreamReader):
    """Has read what a test gives."""

    def __init__(self, *reads: StreamBatch) -> None:
        self._given = list(reads)

    def peek(self) -> StreamBatch | None:
        return self._given[0] if self._given else None

    def take(self) -> StreamBatch:
        return self._given.pop(0)

    def close(self) -> None:
        pass


@contextmanager
def idle_snapshotter() -> Iterator[Snapshotter]:
    progress = SnapshotProgress()
    with MongoClient[Any]("mongodb://127.0.0.1:1", connect=False) as client:
        made = Snapshotter(
            client,
            ENCODER,
            Namespaces(),
            SnapshotSettings(),
            progress,
            wake=lambda: None,
            new_pause=lambda: RetryPause(1.0, 120.0, 16),
        )
        with closing(made):
            yield made
