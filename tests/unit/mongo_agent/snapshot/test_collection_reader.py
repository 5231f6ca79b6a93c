"""Replies with documents of any size, from a server whose large replies fail."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import bson
from bson.raw_bson import RawBSONDocument
from hypothesis import given
from hypothesis import strategies as st
from pymongo import ReadPreference
from pymongo.client_session import ClientSession
from pymongo.command_cursor import CommandCursor
from pymongo.errors import NetworkTimeout, OperationFailure, PyMongoError

from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.server.commands import Client
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.settings import SnapshotSettings

SNAPSHOT = CollectionSnapshot(1, "shop", "a", SnapshotReason.INITIAL)
WHOLE = Chunk(None, None)
LARGEST_BYTES = 1_000_000
FAILURES = [
    NetworkTimeout("timed out"),
    OperationFailure("Exceeded memory limit", 146),
    OperationFailure("Sort exceeded memory limit", 292),
]


class OfflineClient:
    read_preference = ReadPreference.PRIMARY


@dataclass
class Cursor:
    """A reply of more than `bound` bytes and one document fails."""

    documents: list[bytes]
    bound: int
    failure: PyMongoError
    asked: int
    failures: list[int] = field(default_factory=list)

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def batch_size(self, asked: int) -> None:
        self.asked = asked

    def __iter__(self) -> Iterator[RawBSONDocument]:
        while self.documents:
            asked = self.asked
            reply, self.documents = self.documents[:asked], self.documents[asked:]
            if sum(map(len, reply)) > self.bound and len(reply) > 1:
                self.failures.append(asked)
                raise self.failure
            yield from map(RawBSONDocument, reply)


class Reader(CollectionReader):
    def __init__(self, documents: list[bytes], bound: int, failure: PyMongoError) -> None:
        # Each chunk contains all documents.
        settings = SnapshotSettings(chunk_size=len(documents), chunk_bytes=1 << 40)
        super().__init__(cast(Client, OfflineClient()), settings)
        self.all, self.bound, self.failure = documents, bound, failure
        self.failures: list[int] = []

    def _run(
        self, snapshot: CollectionSnapshot, command: dict[str, Any], session: ClientSession | None
    ) -> CommandCursor[RawBSONDocument]:
        cursor = Cursor(self.all, self.bound, self.failure, command["batchSize"], self.failures)
        return cast(CommandCursor[RawBSONDocument], cursor)

    def _session(self) -> Any:
        return nullcontext()

    def _cluster_time(self, session: ClientSession | None) -> ClusterTime:
        return NEVER


@given(st.integers(0), st.integers(LARGEST_BYTES, 16 << 20), st.sampled_from(FAILURES))
def test_failed_replies_shrink_until_they_arrive(
    seed: int, bound: int, failure: PyMongoError
) -> None:
    random = Random(seed)
    largest = [random.choice([10, 10_000, LARGEST_BYTES]) for _ in range(6)]
    sizes = [random.randint(1, each) for each in largest for _ in range(random.choice([1, 20]))]
    documents = [bson.encode({"_id": n, "a": bytes(size)}) for n, size in enumerate(sizes)]
    reader = Reader(documents, bound + 100, failure)
    while True:
        try:
            found = reader.read_since(SNAPSHOT, WHOLE, NEVER).documents
            break
        except type(failure):
            continue
    assert list(found) == documents
    assert reader.failures == sorted(set(reader.failures), reverse=True)
    assert len(reader.failures) <= 10
