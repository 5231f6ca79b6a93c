"""A fault of one collection never stops the snapshot of other collections."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from bson.errors import InvalidBSON
from pymongo.errors import (
    AutoReconnect,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    ProtocolError,
    ServerSelectionTimeoutError,
)

from mongo_agent.server.commands import Client
from mongo_agent.signals.signal import parse_signal
from mongo_agent.snapshot import encoding
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.read_failures import ReadFailure, classify_read_failure
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.status.conditions import Facts, conditions_of
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from tests.support.mongodb.given_streams import stream_view
from tests.support.pipeline.snapshot_output import Pipeline

NUMBERS = list(range(12))
OTHERS = ("a", "c")


@dataclass(frozen=True)
class Row:
    """`stops` is the error that ends all reads as soon as no other collection remains."""

    failure: ReadFailure
    error: Exception
    reason: str = ""
    """Part of the collection's condition; empty if another way of reading succeeds."""
    query: str | None = None
    stops: type[SidecarError] | None = None


NO_RIGHT = OperationFailure("not authorized on shop", 13)
ROWS = {
    "view": Row(ReadFailure.COLLECTION, OperationFailure("is a view", 166), "code 166"),
    "damage": Row(ReadFailure.COLLECTION, OperationFailure("damaged", 8), "code 8"),
    "no index": Row(ReadFailure.COLLECTION, OperationFailure("bad hint", 2), "code 2"),
    "internal": Row(ReadFailure.COLLECTION, OperationFailure("internal", 1), "code 1"),
    "time limit": Row(ReadFailure.COLLECTION, OperationFailure("time limit", 50), "code 50"),
    "no right": Row(ReadFailure.COLLECTION, NO_RIGHT, "lacks a privilege"),
    "timeout": Row(ReadFailure.COLLECTION, NetworkTimeout("timed out"), "timed out"),
    "bad reply": Row(ReadFailure.COLLECTION, ProtocolError("no reply"), "no reply"),
    "bad document": Row(ReadFailure.COLLECTION, InvalidBSON("no BSON"), "InvalidBSON"),
    "any error": Row(ReadFailure.COLLECTION, ZeroDivisionError("by nought"), "by nought"),
    **{
        name: Row(ReadFailure.LATER, OperationFailure(name, code), f"code {code}")
        for name, code in (("too old", 239), ("too new", 246), ("moved", 250), ("moving", 272))
    },
    "capped": Row(ReadFailure.CAPPED, OperationFailure("not on capped collections", 246)),
    "no times": Row(ReadFailure.PLAIN, OperationFailure("no atClusterTime", 72)),
    "filter": Row(
        ReadFailure.REJECTED, OperationFailure("unknown operator", 9), "operator", '{"n": 1}'
    ),
    "connection": Row(ReadFailure.COLLECTION, AutoReconnect("closed"), "closed"),
    "election": Row(ReadFailure.AGAIN, OperationFailure("shutdown", 91), stops=UnavailableError),
    "step down": Row(ReadFailure.AGAIN, NotPrimaryError("no primary"), stops=UnavailableError),
    "away": Row(ReadFailure.AGAIN, ServerSelectionTimeoutError("none"), stops=UnavailableError),
    "login": Row(ReadFailure.FATAL, OperationFailure("no login", 18), stops=AccessDeniedError),
}
OF_EXACT_READS = (ReadFailure.LATER, ReadFailure.CAPPED, ReadFailure.PLAIN)
WITHOUT_COLLECTION = {ReadFailure.DENIED}
"""Faults of the list of collections, on which all collections depend."""


@pytest.fixture
def filled(client: Client) -> Client:
    for name in ("a", "b", "c"):
        client.shop[name].insert_many([{"_id": number, "n": 1} for number in NUMBERS])
    return client


@pytest.fixture(params=["find_bounds", "read_at"])
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Set the error of each plan or read of `shop.b`."""
    method = request.param
    real = getattr(CollectionReader, method)
    errors: list[Exception] = []

    def read(reader: CollectionReader, snapshot: CollectionSnapshot, *arguments: Any) -> Any:
        if snapshot.collection == "b" and errors:
            raise errors[0]
        return real(reader, snapshot, *arguments)

    monkeypatch.setattr(CollectionReader, method, read)
    errors_of: Callable[[Exception], None] = errors.append
    yield method, errors_of, errors.clear


def copied(pipeline: Pipeline, name: str) -> list[int]:
    return sorted(pipeline.output.copied(f"L.shop.{name}"))


def others_are_copied(pipeline: Pipeline) -> bool:
    return all(copied(pipeline, name) == NUMBERS for name in OTHERS)


def rejected(pipeline: Pipeline) -> dict[str, str]:
    return pipeline.snapshotter.view().rejected


def test_cases_cover_each_read_failure_of_a_collection() -> None:
    assert {row.failure for row in ROWS.values()} | WITHOUT_COLLECTION == set(ReadFailure)
    assert classify_read_failure(NO_RIGHT, None) is ReadFailure.DENIED


@pytest.mark.parametrize("name", ROWS)
def test_read_errors_are_classified(name: str) -> None:
    row = ROWS[name]
    snapshot = CollectionSnapshot(1, "shop", "b", SnapshotReason.INITIAL, filter=row.query)
    assert classify_read_failure(row.error, snapshot, is_exact=True) is row.failure


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ROWS)
def test_failing_collection_does_not_stop_other_collections(
    name: str, threads: int, filled: Client, failing: Any
) -> None:
    row = ROWS[name]
    method, fail, mend = failing
    if method == "find_bounds" and row.failure in OF_EXACT_READS:
        row = Row(ReadFailure.COLLECTION, row.error, "shop.b")
    filters = {} if row.query is None else {"shop.b": row.query}
    settings = SnapshotSettings(chunk_size=4, threads=threads, filters=filters)
    with Pipeline(filled, settings=settings) as pipeline:
        fail(row.error)
        if row.stops is not None:
            with pytest.raises(row.stops):
                pipeline.run()
            assert row.failure is ReadFailure.FATAL or others_are_copied(pipeline)
            return
        if not row.reason:
            pipeline.run()
            assert others_are_copied(pipeline)
            assert copied(pipeline, "b") == NUMBERS
            return
        pipeline.run(lambda: others_are_copied(pipeline) and "shop.b" in rejected(pipeline))
        assert row.reason in rejected(pipeline)["shop.b"]
        stream = stream_view(snapshot=pipeline.snapshotter.view())
        (condition,) = conditions_of(Facts(streams=(stream,)))
        assert condition.code == "snapshot_collection_rejected"
        assert "shop.b" in condition.message
        assert "`mongo-agent snapshot start shop.b --filter shop.b QUERY`" in condition.remedy
        mend()
        if row.failure is not ReadFailure.REJECTED:
            pipeline.run()
            assert copied(pipeline, "b") == NUMBERS
            assert not rejected(pipeline)


def test_encoding_error_affects_one_collection(
    filled: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = encoding.encode_chunk

    def encode(encoder: Any, snapshot: CollectionSnapshot, *arguments: Any) -> Any:
        if snapshot.collection == "b":
            raise TypeError("an encoder's fault")
        return real(encoder, snapshot, *arguments)

    monkeypatch.setattr("mongo_agent.snapshot.snapshotter.encode_chunk", encode)
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=4)) as pipeline:
        pipeline.run(lambda: others_are_copied(pipeline) and "shop.b" in rejected(pipeline))
        assert "TypeError: an encoder's fault" in rejected(pipeline)["shop.b"]


@pytest.mark.parametrize("error", [MemoryError(), UnavailableError("the registry is away")])
def test_shared_faults_stop_all_collections(error: Exception, filled: Client, failing: Any) -> None:
    _, fail, _ = failing
    with Pipeline(filled) as pipeline, pytest.raises(type(error)):
        fail(error)
        pipeline.run()


@pytest.mark.parametrize("is_failing", [True, False])
def test_stop_signal_skips_a_collection(is_failing: bool, filled: Client, failing: Any) -> None:
    """A collection that is retried, and one whose filter the server rejected."""
    _, fail, _ = failing
    fail(OperationFailure("internal", 1))
    filters = {} if is_failing else {"shop.b": '{"n": 1}'}
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=4, filters=filters)) as pipeline:
        pipeline.run(lambda: others_are_copied(pipeline) and "shop.b" in rejected(pipeline))
        data = {"type": "incremental", "data-collections": ["shop.b"]}
        stop = parse_signal({"type": "stop-snapshot", "data": data}, "test")
        assert pipeline.snapshotter.apply(stop).is_accepted
        assert not rejected(pipeline)
        pipeline.run()
