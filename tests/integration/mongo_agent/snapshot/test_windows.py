"""Snapshots without a cluster time: capped collections, servers without snapshot reads."""

import random
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from mongo_agent.server.commands import Client
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.windows import EventScope, Window, touches
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.pipeline.snapshot_output import Pipeline

SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 4))]
)


def id_of(value: Any) -> bytes:
    return bson.encode({"_id": value})


def event(**fields: Any) -> bytes:
    return bson.encode(fields)


@pytest.mark.parametrize("operation", ["insert", "update", "replace", "delete"])
def test_document_events_affect_their_document(operation: str) -> None:
    of_sharded = event(
        operationType=operation, ns={"db": "shop", "coll": "a"}, documentKey={"k": 1, "_id": 7}
    )
    assert list(touches(of_sharded)) == [EventScope("shop", "a", id_of(7))]


@pytest.mark.parametrize(
    ("fields", "touched"),
    [
        ({"operationType": "drop", "ns": {"db": "s", "coll": "a"}}, [EventScope("s", "a", None)]),
        ({"operationType": "dropDatabase", "ns": {"db": "s"}}, [EventScope("s", None, None)]),
        (
            {
                "operationType": "rename",
                "ns": {"db": "s", "coll": "a"},
                "to": {"db": "t", "coll": "b"},
            },
            [EventScope("s", "a", None), EventScope("t", "b", None)],
        ),
        ({"operationType": "create", "ns": {"db": "s", "coll": "a"}}, []),
        ({"operationType": "reshardCollection", "ns": {"db": "s", "coll": "a"}}, []),
        ({"operationType": "endOfTransaction"}, []),
        ({"operationType": "invalidate"}, [EventScope(None, None, None)]),
        ({"splitEvent": {"fragment": 2, "of": 2}}, [EventScope(None, None, None)]),
    ],
)
def test_collection_events_affect_whole_namespaces(
    fields: dict[str, Any], touched: list[EventScope]
) -> None:
    assert list(touches(event(**fields))) == touched


def test_unreadable_event_affects_everything() -> None:
    assert list(touches(b"noise")) == [EventScope(None, None, None)]


def test_window_leaves_changed_documents_to_the_stream() -> None:
    window = Window("shop", "a")
    window.pass_over(EventScope("shop", "a", id_of(1)))
    window.pass_over(EventScope("shop", "other", id_of(2)))
    window.pass_over(EventScope("crm", "a", id_of(3)))
    documents = tuple(bson.encode({"_id": each, "n": 0}) for each in range(5))
    window.pass_over(EventScope("shop", "a", id_of(4)))
    assert window.untouched(documents) == tuple(documents[each] for each in (0, 2, 3))
    assert not window.is_void


@pytest.mark.parametrize(
    "touch",
    [EventScope("shop", "a", None), EventScope("shop", None, None), EventScope(None, None, None)],
)
def test_removed_collection_voids_the_window(touch: EventScope) -> None:
    window = Window("shop", "a")
    window.pass_over(EventScope("shop", "b", None))
    assert not window.is_void
    window.pass_over(touch)
    assert window.is_void


@SEEDS
def test_capped_collection_under_load_loses_no_version(client: Client, seed: int) -> None:
    """Every document ends in its final state, and no version goes backwards."""
    chance = random.Random(seed)
    shop = client.shop
    shop.create_collection("a", capped=True, size=1 << 20)
    versions = {number: 0 for number in range(30)}
    shop.a.insert_many([{"_id": number, "n": 0} for number in versions])

    def write() -> None:
        number = chance.randrange(40)
        versions[number] = versions.get(number, -1) + 1
        shop.a.replace_one({"_id": number}, {"_id": number, "n": versions[number]}, upsert=True)

    with Pipeline(client, settings=SnapshotSettings(chunk_size=4, threads=2)) as pipeline:
        for _ in range(60):
            pipeline.step()
            write()
        pipeline.run()
    states = pipeline.output.states("L.shop.a")
    assert len(states) == len(versions)
    for number, last in versions.items():
        seen = [each["n"] for each in states[f'{{"id":"{number}"}}']]
        assert seen == list(range(seen[0], last + 1)), number
    (finished,) = pipeline.snapshotter.progress.finished
    assert finished.outcome.value == "copied"


def test_collection_that_becomes_capped_is_copied(client: Client) -> None:
    """The collection was not capped when the snapshot was planned."""
    client.shop.create_collection("a", capped=True, size=1 << 20)
    client.shop.a.insert_many([{"_id": number} for number in range(9)])
    with Pipeline(client) as pipeline:
        pipeline.run(lambda: pipeline.snapshotter.progress.collections != ())
        place = pipeline.output.places[-1]
    place.progress = place.progress.replace('"is_plain":true,', "")
    with Pipeline.restarted(client, pipeline.output, place) as pipeline:
        pipeline.run()
    assert sorted(pipeline.output.copied("L.shop.a")) == list(range(9))


@SEEDS
def test_server_without_snapshot_reads_is_copied(seed: int) -> None:
    """Before 5.0: the first read fails, and the snapshot continues as for capped collections."""
    chance = random.Random(seed)
    with (
        MongoReplicaSet(version="4.4.29", noop_interval_s=0.02) as replica_set,
        MongoClient[Any](replica_set.connection_string) as client,
    ):
        names: list[Any] = [*range(15), *"abcdefghij"]
        finals: dict[str, Any] = {}

        def write(name: Any, turn: int) -> None:
            if turn % 4 == 3:
                client.shop.a.delete_one({"_id": name})
                finals.pop(str(name), None)
                return
            client.shop.a.replace_one({"_id": name}, {"_id": name, "n": turn}, upsert=True)
            finals[str(name)] = turn

        for name in names:
            write(name, 0)
        with Pipeline(client, settings=SnapshotSettings(chunk_size=4, threads=2)) as pipeline:
            for turn in range(80):
                pipeline.step()
                write(chance.choice(names), turn)
            pipeline.run()
        states = pipeline.output.states("L.shop.a").values()
    found = {str(seen[-1]["_id"]): seen[-1]["n"] for seen in states if seen[-1] is not None}
    assert found == finals
    (finished,) = pipeline.snapshotter.progress.finished
    assert finished.outcome.value == "copied"
