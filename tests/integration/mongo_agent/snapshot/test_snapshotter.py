"""Snapshots at exact positions of the stream, from a replica set with the real protocol."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.server.commands import Client
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.support.mongodb.bson_documents import IDENTITIES
from tests.support.mongodb.given_streams import selected_collection
from tests.support.mongodb.server import MongoShardedCluster
from tests.support.pipeline.snapshot_output import INITIAL, Output, Pipeline


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 7, 20])
def test_snapshot_copies_every_document_once(client: Client, count: int) -> None:
    """No document, one, exactly full chunks, and one more."""
    if count:
        client.shop.a.insert_many([{"_id": number} for number in range(count)])
    else:
        client.shop.create_collection("a")
    with Pipeline(client) as pipeline:
        pipeline.run()
        assert pipeline.output.copied("L.shop.a") == list(range(count))
        (finished,) = pipeline.snapshotter.progress.finished
    assert (finished.documents, finished.outcome.value) == (count, "copied")


@pytest.mark.parametrize(("chunk_size", "threads"), [(1, 1), (3, 2), (50, 1)])
def test_snapshot_copies_sharded_documents_once(chunk_size: int, threads: int) -> None:
    """The router returns documents in the order of its shards' answers."""
    with (
        MongoShardedCluster(noop_interval_s=0.02) as cluster,
        MongoClient[Any](cluster.connection_string) as client,
    ):
        client.admin.command("shardCollection", "shop.a", key={"region": 1})
        client.shop.a.insert_many([{"_id": n, "region": n % 7} for n in range(40)])
        settings = SnapshotSettings(chunk_size=chunk_size, threads=threads)
        with Pipeline(client, settings=settings) as pipeline:
            pipeline.run()
            assert pipeline.output.copied("L.shop.a") == list(range(40))


def test_snapshot_markers_equal_those_of_debezium(client: Client) -> None:
    client.shop.a.insert_many([{"_id": number} for number in range(5)])
    client.shop.b.insert_one({"_id": 1})
    client.shop.create_collection("empty")
    client.shop.z.insert_many([{"_id": number} for number in range(2)])
    with Pipeline(client) as pipeline:
        pipeline.run()
    assert pipeline.output.marks() == [
        "first",
        *["true"] * 3,
        "last_in_data_collection",
        "last_in_data_collection",
        "first_in_data_collection",
        "last",
    ]


@pytest.mark.parametrize("threads", [1, 4])
def test_concurrent_changes_keep_their_order(client: Client, threads: int) -> None:
    """Writes between any two steps appear before or after the snapshot, exactly once: each
    document's states follow its history."""
    histories: dict[int, list[Any]] = {}
    shop = client.shop

    def write(turn: int) -> None:
        number = turn * 7 % 30
        if turn % 5 == 0 and histories.get(number, [None])[-1] is not None:
            shop.a.delete_one({"_id": number})
            histories[number].append(None)
            return
        document = {"_id": number, "turn": turn}
        shop.a.replace_one({"_id": number}, document, upsert=True)
        histories.setdefault(number, []).append(document)

    for turn in range(40):
        write(turn)
    settings = SnapshotSettings(chunk_size=2, threads=threads)
    with Pipeline(client, settings=settings) as pipeline:
        turn = 40
        while not pipeline.snapshotter.progress.is_idle:
            pipeline.step()
            if turn < 200:
                write(turn)
                turn += 1
        pipeline.run()
    states = pipeline.output.states("L.shop.a")
    for number, history in histories.items():
        seen = states.get(f'{{"id":"{number}"}}', [])
        assert seen == history[len(history) - len(seen) :], number
        assert seen or history[-1] is None, number


def test_snapshot_copies_mixed_id_types_once(client: Client) -> None:
    client.shop.a.insert_many([{"_id": each} for each in IDENTITIES[::-1]])
    for threads in (1, 3):
        settings = SnapshotSettings(chunk_size=2, threads=threads)
        with Pipeline(client, settings=settings) as pipeline:
            pipeline.run()
        keys = [key for _, key, _ in pipeline.output.messages]
        assert len(keys) == len(set(keys)) == len(IDENTITIES)


def copied_under_load(client: Client, settings: SnapshotSettings) -> Output:
    """A snapshot of `shop.a` with a change after each step."""
    with Pipeline(client, settings=settings) as pipeline:
        turn = 0
        while not pipeline.snapshotter.progress.is_idle:
            pipeline.step()
            client.shop.a.replace_one({"_id": turn % 14}, {"_id": turn % 14, "n": turn})
            turn += 1
        pipeline.run()
    return pipeline.output


def test_snapshot_resumes_at_any_step(client: Client) -> None:
    """From every stored position, as if the agent were killed after it."""
    shop = client.shop
    shop.a.insert_many([{"_id": number, "n": 0} for number in range(14)])
    shop.b.insert_many([{"_id": number} for number in range(5)])
    settings = SnapshotSettings(chunk_size=2, threads=2)
    output = copied_under_load(client, settings)
    stored = {place.progress: place for place in output.places if place.token is not None}
    assert len(stored) > 8
    for place in stored.values():
        again = replace(output, messages=list(output.messages), places=[])
        with Pipeline.restarted(client, again, place, settings=settings) as pipeline:
            pipeline.run()
        finals = {key: states[-1] for key, states in again.states("L.shop.a").items()}
        by_id = sorted(finals.values(), key=lambda each: int(each["_id"]))
        assert by_id == list(shop.a.find(sort={"_id": 1}))
        assert sorted(again.copied("L.shop.b")) == list(range(5))
        assert sorted(again.copied("L.shop.a")) == list(range(14))


def test_resumed_snapshot_reads_no_state_older_than_published_changes(client: Client) -> None:
    """From every stored position, though everything behind it was published. Otherwise a consumer
    that ignores repeated changes would keep an older state."""
    shop = client.shop
    shop.a.insert_many([{"_id": number, "n": 0} for number in range(14)])
    settings = SnapshotSettings(chunk_size=2, threads=2)
    output = replace(copied_under_load(client, settings), drops_repeats=True)
    final = [{"_id": each["_id"], "n": each["n"]} for each in shop.a.find(sort={"_id": 1})]
    stored = {place.progress: place for place in output.places if place.token is not None}
    for place in stored.values():
        again = replace(output, messages=list(output.messages), ids=set(output.ids), places=[])
        progress = SnapshotProgress.from_json(place.progress)
        with Pipeline(
            client,
            settings=settings,
            progress=progress,
            token=place.token,
            output=again,
            may_repeat=True,
            batch_size=2,
        ) as pipeline:
            pipeline.run()
        last = [states[-1] for states in again.states("L.shop.a").values()]
        assert sorted(last, key=lambda each: int(each["_id"])) == final


def test_snapshot_resumes_at_any_step_of_a_rename(client: Client) -> None:
    shop = client.shop
    for name in ("a", "b"):
        shop[name].insert_many([{"_id": number, "of": name} for number in range(9)])
    settings = SnapshotSettings(chunk_size=2)
    with Pipeline(client, settings=settings) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= 4)
        shop.a.rename("b", dropTarget=True)
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.b")) >= 3)
        shop.b.rename("c")
        pipeline.run()
    output = pipeline.output
    stored = {place.progress: place for place in output.places if place.token is not None}
    for place in stored.values():
        again = replace(output, messages=list(output.messages), places=[])
        with Pipeline.restarted(client, again, place, settings=settings) as pipeline:
            pipeline.run()
        # Under the last name, unless the snapshot ended before the renames.
        last = [
            {
                json.loads(key)["id"]: json.loads(value["after"])
                for topic, key, value in again.messages
                if topic == f"L.shop.{name}" and value is not None
            }
            for name in "abc"
        ]
        assert {str(each["_id"]): each for each in shop.c.find()} in last


def test_unplaced_documents_are_reread_after_a_restart(client: Client) -> None:
    client.shop.a.insert_many([{"_id": number} for number in range(9)])
    with Pipeline(client) as pipeline:
        pipeline.run(lambda: pipeline.snapshotter.holds_stream)
        place = pipeline.output.places[-1]
    with Pipeline.restarted(client, pipeline.output, place) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == list(range(9))


@pytest.mark.parametrize("sizes", [{"a": 10}, {"a": 1, "b": 1}])
def test_collection_waiting_for_its_schema_blocks_no_other(
    client: Client, sizes: dict[str, int]
) -> None:
    """A large collection, or several small ones, before one with a registered schema."""
    for name, size in sizes.items():
        client.shop[name].insert_many([{"_id": number} for number in range(size)])
    client.shop.z.insert_many([{"_id": number} for number in range(7)])
    waiting = set(sizes)
    with Pipeline(client, is_ready=lambda _, collection: collection not in waiting) as pipeline:
        pipeline.run(until=lambda: pipeline.snapshotter.progress.finished_count == 1)
        assert pipeline.output.copied("L.shop.z") == list(range(7))
        assert {each.collection for each in pipeline.snapshotter.progress.collections} == waiting
        waiting.clear()
        pipeline.run()
        for name, size in sizes.items():
            assert pipeline.output.copied(f"L.shop.{name}") == list(range(size))


def test_planned_collection_without_schema_blocks_no_other(client: Client) -> None:
    """As after a restart: the registry had accepted the schema before."""
    for name in ("a", "z"):
        client.shop[name].insert_many([{"_id": number} for number in range(10)])
    with Pipeline(client) as pipeline:
        pipeline.run(
            until=lambda: any(each.chunks for each in pipeline.snapshotter.progress.collections)
        )
        progress = pipeline.snapshotter.progress
    with Pipeline(
        client, progress=progress, is_ready=lambda _, collection: collection != "a"
    ) as pipeline:
        pipeline.run(until=lambda: pipeline.snapshotter.progress.finished_count == 1)
        assert pipeline.output.copied("L.shop.z") == list(range(10))
        assert pipeline.output.copied("L.shop.a") == []


def test_grown_chunks_are_split(client: Client) -> None:
    """The last chunk has no upper bound, and the agent may return after a year."""
    (request,) = INITIAL.requests
    planned = INITIAL.resolved(request, [selected_collection(request, "a")]).planned(
        1, [], is_whole=True
    )
    client.shop.a.insert_many([{"_id": number} for number in range(40)])
    with Pipeline(client, progress=planned) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == list(range(40))
    (finished,) = pipeline.snapshotter.progress.finished
    # At most six documents in each chunk.
    assert finished.chunks == 7


def test_chunks_of_large_documents_are_split(client: Client) -> None:
    text = "x" * 1000
    client.shop.a.insert_many([{"_id": number, "text": text} for number in range(20)])
    settings = SnapshotSettings(chunk_size=100, chunk_bytes=3500)
    with Pipeline(client, settings=settings) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == list(range(20))
    (finished,) = pipeline.snapshotter.progress.finished
    assert finished.chunks == 5


def test_snapshot_through_a_router_is_ordered() -> None:
    """One read time for all shards, in the order of all their documents."""
    with (
        MongoShardedCluster(noop_interval_s=0.02) as cluster,
        MongoClient[Any](cluster.connection_string) as client,
    ):
        client.shop.a.insert_many([{"_id": number} for number in range(50)])
        with Pipeline(client, settings=SnapshotSettings(chunk_size=7, threads=3)) as pipeline:
            pipeline.run()
    assert pipeline.output.copied("L.shop.a") == list(range(50))
