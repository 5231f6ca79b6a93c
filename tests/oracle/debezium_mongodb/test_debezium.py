"""Debezium's MongoDB connector and the agent yield the same records of the same replica set."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.change_stream.cursor import StreamFailedError
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.documents import ClusterTime
from tests.oracle.debezium_mongodb import ours
from tests.oracle.debezium_mongodb.comparison import compared, meanings, without_removal
from tests.oracle.debezium_mongodb.engines import EmbeddedEngines, PeerRecord
from tests.oracle.debezium_mongodb.workload import END, END_KEY, NAMESPACES, Workload
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.given import (
    DATABASES,
    drop_databases,
    given_server,
    needs_own_server,
    needs_release,
)
from tests.support.seeds import draw_seed

pytestmark = pytest.mark.servers

DOCUMENTS_BEFORE, STEPS = 12, 150
# Debezium's properties, and the stream options that they cause.
CAPTURE_MODES: Mapping[str, tuple[Mapping[str, str], StreamOptions]] = {
    "plain": ({"capture.mode": "change_streams"}, StreamOptions("default")),
    "lookup": ({"capture.mode": "change_streams_update_full"}, StreamOptions("updateLookup")),
    "post_image": (
        {
            "capture.mode": "change_streams_update_full",
            "capture.mode.full.update.type": "post_image",
        },
        StreamOptions("whenAvailable"),
    ),
    "both_images": (
        {
            "capture.mode": "change_streams_update_full_with_pre_image",
            "capture.mode.full.update.type": "post_image",
        },
        StreamOptions("whenAvailable", "whenAvailable"),
    ),
    "pre_image": (
        {"capture.mode": "change_streams_with_pre_image"},
        StreamOptions("default", "whenAvailable"),
    ),
}


TRANSACTIONS = {"capture.mode": "change_streams", "provide.transaction.metadata": "true"}, None
# No path lies inside another one, because Debezium stops at the first.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "field.exclude.list": ("*.*.sub.a", "*.*.n", "shop.orders.copied.b", "shop.*.pushed"),
    "field.renames": (
        "*.*.sub.b:c",
        "*.*.umbenannt:renamed",
        "shop.orders.list:liste",
        "*.*.copied.a:z",
    ),
}
FIELD_RULES = (
    {
        **CAPTURE_MODES["both_images"][0],
        **{name: ",".join(fields) for name, fields in FIELDS.items()},
    },
    None,
)
# Each leads to another pipeline or scope; with the namespaces that it passes.
FILTERS: Mapping[str, tuple[Mapping[str, str], tuple[tuple[str, str], ...]]] = {
    "regex": ({"collection.include.list": "shop[.](orders|plain)"}, NAMESPACES[:2]),
    "literal": (
        {"collection.include.list": "shop.orders,shop.plain", "filters.match.mode": "literal"},
        NAMESPACES[:2],
    ),
    "database": ({"capture.scope": "database", "capture.target": "größe"}, NAMESPACES[4:]),
    "collection": (
        {"capture.scope": "collection", "capture.target": "shop.plain"},
        NAMESPACES[1:2],
    ),
    "skip": (
        {"cursor.oversize.handling.mode": "skip", "cursor.oversize.skip.threshold": "1000000"},
        NAMESPACES,
    ),
}


@dataclass(frozen=True)
class ReplayedWorkload:
    """A completed workload, and the engines that read it."""

    client: MongoClient[Any]
    engines: EmbeddedEngines
    copied: list[PeerRecord]
    """Documents before the workload, as the agent copies them."""
    started_at: ClusterTime

    def events(self, mode: str) -> list[bytes]:
        return ours.events_since(self.started_at, self.client, CAPTURE_MODES[mode][1])


def is_done(records: list[PeerRecord]) -> bool:
    return bool(records) and records[-1].topic.endswith(".peer.end")


def last_records(records: list[PeerRecord]) -> set[str]:
    """Topics whose last record has arrived."""
    key = json.dumps({"id": json.dumps(END_KEY)}, separators=(",", ":")).encode()
    return {record.topic for record in records if record.key == key}


@contextmanager
def server(**options: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Address, and a function that elects another primary. A given real server keeps its primary
    and its release."""
    if (target := given_server()) is not None:
        drop_databases(target)
        yield target, lambda: None
        return
    with MongoReplicaSet(**options) as started:
        yield started.connection_string, started.step_down


@pytest.fixture(scope="module", params=["fixed", pytest.param("fresh", marks=pytest.mark.slow)])
def replayed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReplayedWorkload]:
    seed = 20260822 if request.param == "fixed" else draw_seed()
    with (
        server(members=3) as (target, elect),
        MongoClient[Any](target) as client,
        EmbeddedEngines(tmp_path_factory.mktemp("debezium")) as engines,
    ):
        needs_release(client, 6, 0)
        workload = Workload(client, Random(seed))
        workload.prepare(DOCUMENTS_BEFORE)
        copied = ours.copied(target, "live", NAMESPACES)
        # A real server has other databases, which must not be copied.
        listed = {"database.include.list": ",".join(DATABASES)}
        whole = {**CAPTURE_MODES["plain"][0], **listed, "snapshot.mode": "initial"}
        engines.start("live", target, whole)
        engines.records("live", lambda records: len(records) >= len(copied))
        started_at = workload.write_until_heard()
        # The connector, in the middle of its stream, must find the new primary twice.
        for _ in range(2):
            workload.run(STEPS)
            elect()
            workload.write_until_heard()
        workload.run(STEPS)
        workload.end()
        time = {"capture.start.op.time": str(started_at.time << 32 | started_at.inc)}
        read = {**CAPTURE_MODES, **FILTERS, "transactions": TRANSACTIONS, "fields": FIELD_RULES}
        for name, (properties, _) in read.items():
            engines.start(name, target, {**properties, **time, "snapshot.mode": "no_data"})
        at = ClusterTime(started_at.time, started_at.inc)
        yield ReplayedWorkload(client, engines, copied, at)


def assert_equal(theirs: list[PeerRecord], found: list[PeerRecord]) -> None:
    for index, (their, our) in enumerate(zip(theirs, found, strict=False)):
        assert compared(our) == compared(their), f"record {index}"
    assert len(found) == len(theirs)


def test_debezium_snapshot_equals_our_snapshot(replayed: ReplayedWorkload) -> None:
    theirs = replayed.engines.records("live", is_done)[: len(replayed.copied)]
    in_order = sorted(replayed.copied, key=lambda record: (record.topic, record.key))
    assert_equal(sorted(theirs, key=lambda record: (record.topic, record.key or b"")), in_order)


@pytest.mark.parametrize("mode", CAPTURE_MODES)
def test_debezium_stream_equals_our_stream(replayed: ReplayedWorkload, mode: str) -> None:
    theirs = replayed.engines.records(mode, is_done)
    assert_equal(theirs, ours.streamed(replayed.events(mode), mode))


def test_debezium_stream_after_snapshot_equals_our_stream(replayed: ReplayedWorkload) -> None:
    theirs = replayed.engines.records("live", is_done)[len(replayed.copied) :]
    events = replayed.events("plain")
    assert_equal(theirs, ours.streamed(events, "live"))


@pytest.mark.parametrize("name", FILTERS)
def test_filters_and_scopes_select_the_same_records(replayed: ReplayedWorkload, name: str) -> None:
    expected = ours.streamed(replayed.events("lookup"), name, of=FILTERS[name][1])
    topics = {record.topic for record in expected}
    theirs = replayed.engines.records(name, lambda records: last_records(records) >= topics)
    assert_equal([record for record in theirs if record.topic in topics], expected)


def test_debezium_transaction_records_equal_ours(replayed: ReplayedWorkload) -> None:
    events = replayed.events("plain")
    theirs = replayed.engines.records("transactions", is_done)
    assert_equal(
        theirs, ours.streamed(events, "transactions", transaction_topic="transactions.transaction")
    )


@pytest.mark.parametrize("document_json", ["strict", "extended", "relaxed"])
def test_documents_are_equal_in_every_json_format(
    replayed: ReplayedWorkload, document_json: str
) -> None:
    """The available releases of the connector write only one format, `legacy`."""
    theirs = replayed.engines.records("both_images", is_done)
    events = replayed.events("both_images")
    found = ours.streamed(events, "both_images", document_json=document_json)
    for their, our in zip(theirs, found, strict=True):
        assert (our.topic, our.key) == (their.topic, their.key)
        assert meanings(our, document_json) == meanings(their, document_json)


def test_debezium_field_rules_yield_the_same_records(replayed: ReplayedWorkload) -> None:
    events = replayed.events("both_images")
    theirs = replayed.engines.records("fields", is_done)
    rules: dict[str, Any] = {
        "excluded_fields": FIELDS["field.exclude.list"],
        "renamed_fields": FIELDS["field.renames"],
    }
    found = ours.streamed(events, "fields", **rules)
    # Debezium does not report the removal of a document that contains an excluded field.
    assert_equal(theirs, [without_removal(record, "sub") for record in found])


@pytest.mark.slow
def test_debezium_records_through_a_router_equal_ours(tmp_path: Path) -> None:
    needs_own_server()
    seed = draw_seed()
    with (
        MongoShardedCluster() as cluster,
        MongoClient[Any](cluster.connection_string) as client,
        EmbeddedEngines(tmp_path) as engines,
    ):
        for database, collection in NAMESPACES[::2]:
            name = f"{database}.{collection}"
            client.admin.command("shardCollection", name, key={"_id": 1})
        workload = Workload(client, Random(seed))
        workload.prepare(DOCUMENTS_BEFORE)
        properties, options = CAPTURE_MODES["plain"]
        target = cluster.connection_string
        copied = ours.copied(target, "router", NAMESPACES)
        engines.start("router", target, {**properties, "snapshot.mode": "initial"})
        engines.records("router", lambda records: len(records) >= len(copied))
        started_at = workload.write_until_heard()
        workload.run(STEPS)
        workload.end()
        theirs = engines.records("router", is_done)
        assert {record.key for record in theirs[: len(copied)]} == {each.key for each in copied}
        at = ClusterTime(started_at.time, started_at.inc)
        events = ours.events_since(at, client, options)
        assert_equal(theirs[len(copied) :], ours.streamed(events, "router"))


def test_split_events_are_joined_to_the_same_records(tmp_path: Path) -> None:
    needs_own_server()
    images = {"enabled": True}
    with (
        MongoReplicaSet(max_event_bytes=20_000) as small,
        MongoClient[Any](small.connection_string) as client,
        EmbeddedEngines(tmp_path) as engines,
    ):
        orders = client.shop.create_collection("orders", changeStreamPreAndPostImages=images)
        started_at = small.write_noop()
        for number, size in enumerate((10, 9_000, 15_000, 200)):
            orders.insert_one({"_id": number, "text": "ä" * (size // 2)})
            orders.update_one({"_id": number}, {"$set": {"n": number, "more": "x" * size}})
            orders.replace_one({"_id": number}, {"text": "y" * size})
        client[END[0]][END[1]].insert_one({"_id": END_KEY})
        properties, options = CAPTURE_MODES["both_images"]
        time = {"capture.start.op.time": str(started_at.time << 32 | started_at.inc)}
        split = {"cursor.oversize.handling.mode": "split", "snapshot.mode": "no_data"}
        engines.start("split", small.connection_string, {**properties, **time, **split})
        theirs = engines.records("split", is_done)
        at = ClusterTime(started_at.time, started_at.inc)
        with pytest.raises(StreamFailedError, match="is invalid"):
            ours.events_since(at, client, options)
        events = ours.events_since(at, client, options, is_split=True)
        assert_equal(theirs, ours.streamed(events, "split"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.4.29", "5.0.31", "8.0.4"])
def test_other_server_releases_yield_the_same_records(version: str, tmp_path: Path) -> None:
    seed = draw_seed()
    with (
        server(version=version) as (target, _),
        MongoClient[Any](target) as client,
        EmbeddedEngines(tmp_path) as engines,
    ):
        has_images = client.admin.command("buildInfo")["versionArray"] >= [6]
        workload = Workload(client, Random(seed), has_images=has_images)
        workload.prepare(DOCUMENTS_BEFORE)
        started_at = workload.write_until_heard()
        workload.run(STEPS)
        workload.end()
        properties, options = CAPTURE_MODES["lookup"]
        time = {"capture.start.op.time": str(started_at.time << 32 | started_at.inc)}
        settings = {**properties, **time, "snapshot.mode": "no_data"}
        engines.start("release", target, settings)
        theirs = engines.records("release", is_done)
        at = ClusterTime(started_at.time, started_at.inc)
        assert_equal(theirs, ours.streamed(ours.events_since(at, client, options), "release"))
