"""A stream that has read what a test gives, and a snapshotter that has nothing to do."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from pymongo import MongoClient

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.change_stream.reader import StreamBatch, StreamReader
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.snapshotter import Snapshotter
from tests.support.mongodb.encodings import encoder

ENCODER = encoder(topic_prefix="p", node_id="agent-1")


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
            client, ENCODER, Namespaces(), SnapshotSettings(), progress, wake=lambda: None
        )
        with closing(made):
            yield made
