"""Snapshots during faults of servers and networks, and during changes by operators."""

from dataclasses import dataclass
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.server.commands import Client
from mongo_agent.signals.signal import parse_signal
from mongo_agent.snapshot.collections import list_captured_collections
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.settings import SnapshotSettings, progress_at_start
from sidecar.errors import AccessDeniedError, UnavailableError
from tests.support.mongodb.server import MongoReplicaSet, User
from tests.support.pipeline.snapshot_output import INITIAL, Pipeline

NUMBERS = list(range(12))


@pytest.fixture
def filled(client: Client) -> Client:
    client.shop.a.insert_many([{"_id": number, "n": number % 3} for number in NUMBERS])
    return client


def ask(pipeline: Pipeline, kind: str, **data: Any) -> str:
    named = {name.replace("_", "-"): value for name, value in data.items()}
    answer = pipeline.snapshotter.apply(parse_signal({"type": kind, "data": named}, "test"))
    assert answer.is_accepted, answer.message
    return answer.message


def outcomes(pipeline: Pipeline) -> dict[str, str]:
    return {each.namespace: each.outcome.value for each in pipeline.snapshotter.progress.finished}


@pytest.mark.parametrize(
    "fault",
    [
        {"errorCode": 91},
        {"errorCode": 11602},
        {"errorCode": 13},
        {"errorCode": 1},
        {"errorCode": 239},
        {"errorCode": 246},
        {"errorCode": 462, "errorLabels": ["RetryableError", "SystemOverloadedError"]},
        {"closeConnection": True},
    ],
    ids=lambda fault: str(next(iter(fault.values()))),
)
@pytest.mark.parametrize("skips", [0, 2, 5])
def test_failing_snapshot_read_is_retried(
    filled: Client, fault: dict[str, Any], skips: int
) -> None:
    """The driver retries some reads by itself, so several must fail."""
    mode = {"times": 5}
    data = {"failCommands": ["find", "count", "listCollections"], **fault}
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=2, threads=2)) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= skips)
        filled.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)
        pipeline.run()
    assert sorted(pipeline.output.copied("L.shop.a")) == NUMBERS
    assert outcomes(pipeline) == {"shop.a": "copied"}


def test_snapshot_survives_elections(filled: Client, replica_set: MongoReplicaSet) -> None:
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=2, threads=2)) as pipeline:
        for _ in range(3):
            pipeline.run(
                lambda: pipeline.snapshotter.holds_stream or pipeline.snapshotter.progress.is_idle
            )
            replica_set.step_down()
            pipeline.step()
        pipeline.run()
    assert sorted(pipeline.output.copied("L.shop.a")) == NUMBERS


def test_snapshot_survives_expired_history(filled: Client, replica_set: MongoReplicaSet) -> None:
    with Pipeline(filled) as pipeline:
        for _ in range(3):
            pipeline.run(
                lambda: pipeline.snapshotter.wants_point or pipeline.snapshotter.progress.is_idle
            )
            replica_set.expire_history()
            pipeline.step()
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == NUMBERS


def test_snapshot_fails_after_repeated_server_errors(filled: Client) -> None:
    data = {"failCommands": ["find"], "errorCode": 91}
    filled.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
    with (
        Pipeline(filled) as pipeline,
        pytest.raises(UnavailableError, match="Collections could not be read in 16 attempts: "),
    ):
        pipeline.run()
    assert not pipeline.snapshotter.progress.is_idle


def test_rejected_login_is_not_retried(filled: Client) -> None:
    data = {"failCommands": ["find"], "errorCode": 18}
    filled.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
    with Pipeline(filled) as pipeline, pytest.raises(AccessDeniedError, match="rejects the login"):
        pipeline.run()


def test_views_and_time_series_are_skipped_with_a_reason(client: Client) -> None:
    shop = client.shop
    shop.a.insert_one({"_id": 1})
    shop.create_collection("seen", viewOn="a", pipeline=[])
    shop.create_collection("prices", timeseries={"timeField": "t"})
    shop["system.buckets.prices"].insert_one({"_id": 1})
    client.config.other.insert_one({"_id": 1})
    with Pipeline(client) as pipeline:
        pipeline.run()
    assert outcomes(pipeline) == {
        "shop.a": "copied",
        "shop.seen": "skipped",
        "shop.prices": "skipped",
    }
    notes = {each.namespace: each.note for each in pipeline.snapshotter.progress.finished}
    assert "a view" in str(notes["shop.seen"])
    assert "change streams do not report" in str(notes["shop.prices"])
    assert {topic for topic, _, _ in pipeline.output.messages} == {"L.shop.a"}


def test_dropped_collection_ends_only_its_own_snapshot(filled: Client) -> None:
    filled.shop.b.insert_many([{"_id": number} for number in NUMBERS])
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=2)) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= 4)
        ask(pipeline, "pause-snapshot")
        pipeline.run(lambda: not pipeline.snapshotter.holds_stream)
        filled.shop.a.drop()
        pipeline.read_on()
        ask(pipeline, "resume-snapshot")
        pipeline.run()
    assert outcomes(pipeline) == {"shop.a": "dropped", "shop.b": "copied"}
    assert pipeline.output.copied("L.shop.b") == NUMBERS


def test_recreated_collection_ends_in_its_final_state(filled: Client) -> None:
    """The snapshot or the stream contains each document of the new collection."""
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=2)) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= 4)
        filled.shop.a.drop()
        filled.shop.a.insert_many([{"_id": number, "life": 2} for number in NUMBERS])
        pipeline.run()
    states = pipeline.output.messages
    last = {key: value["after"] for _, key, value in states if value is not None}
    assert len(last) == len(NUMBERS)
    assert all('"life": 2' in after for after in last.values())


def test_chunk_bounds_follow_the_collation(client: Client) -> None:
    names = [f"{letter}{number}" for number in range(4) for letter in "aBcD"]
    folding = client.shop.create_collection("a", collation={"locale": "en", "strength": 2})
    folding.insert_many([{"_id": name} for name in names])
    for threads in (1, 3):
        with Pipeline(client, settings=SnapshotSettings(chunk_size=2, threads=threads)) as pipeline:
            pipeline.run()
        assert pipeline.output.copied("L.shop.a") == sorted(names, key=str.casefold)


@pytest.mark.parametrize("fetch_size", [1, 2, 100])
def test_snapshot_reads_with_the_configured_fetch_size(filled: Client, fetch_size: int) -> None:
    settings = SnapshotSettings(chunk_size=5, fetch_size=fetch_size)
    with Pipeline(filled, settings=settings) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == NUMBERS


def test_snapshot_copies_only_selected_and_matching_documents(filled: Client) -> None:
    filled.shop.b.insert_one({"_id": 1})
    settings = SnapshotSettings(
        chunk_size=2,
        filters={"shop.a": '{"n": {"$gte": 1}}'},
        chosen=Namespaces(include_collections=("shop[.]a",)),
    )
    with Pipeline(filled, settings=settings) as pipeline:
        pipeline.run()
        ask(pipeline, "execute-snapshot", data_collections=["shop.b"])
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == [each for each in NUMBERS if each % 3]
    assert pipeline.output.copied("L.shop.b") == [1]
    assert pipeline.output.marks()[-1] == "incremental"


def test_rejected_filter_ends_only_its_own_snapshot(filled: Client) -> None:
    filled.shop.b.insert_one({"_id": 1})
    conditions = [{"data-collection": "shop.a", "filter": {"n": {"$near": 1}}}]
    with Pipeline(filled, progress=SnapshotProgress()) as pipeline:
        ask(
            pipeline,
            "execute-snapshot",
            data_collections=["shop.*"],
            additional_conditions=conditions,
        )
        pipeline.run()
    assert outcomes(pipeline) == {"shop.a": "refused", "shop.b": "copied"}
    note = pipeline.snapshotter.progress.finished[0].note
    assert "the server rejects the filter: unknown operator: $near" in str(note)


def test_running_snapshot_is_paused_resumed_and_stopped(filled: Client) -> None:
    filled.shop.b.insert_many([{"_id": number} for number in NUMBERS])
    with Pipeline(filled, settings=SnapshotSettings(chunk_size=2)) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= 4)
        ask(pipeline, "pause-snapshot")
        pipeline.run(lambda: not pipeline.snapshotter.holds_stream)
        paused = len(pipeline.output.copied("L.shop.a"))
        filled.shop.a.insert_one({"_id": 99})
        pipeline.run(lambda: any(key == '{"id":"99"}' for _, key, _ in pipeline.output.messages))
        assert len(pipeline.output.copied("L.shop.a")) == paused
        assert not pipeline.snapshotter.wants_point
        assert pipeline.snapshotter.view().is_paused
        place = pipeline.output.places[-1]
    settings = SnapshotSettings(chunk_size=2)
    # The snapshot stays paused across a restart.
    with Pipeline.restarted(filled, pipeline.output, place, settings=settings) as pipeline:
        pipeline.read_on()
        assert not pipeline.snapshotter.wants_point
        ask(pipeline, "resume-snapshot")
        ask(pipeline, "stop-snapshot", type="incremental", data_collections=["shop.b"])
        pipeline.run()
    assert [each for each in pipeline.output.copied("L.shop.a") if each != 99] == NUMBERS
    assert outcomes(pipeline) == {"shop.b": "stopped", "shop.a": "copied"}


def test_stopped_snapshot_publishes_nothing(
    filled: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with Pipeline(filled) as pipeline:
        pipeline.run(lambda: pipeline.snapshotter.holds_stream)
        ask(pipeline, "stop-snapshot", type="incremental")
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == []
    assert outcomes(pipeline) == {"shop.a": "stopped"}
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == []


def test_restarted_snapshot_repeats_all_documents(filled: Client) -> None:
    with Pipeline(filled) as pipeline:
        pipeline.run(lambda: len(pipeline.output.copied("L.shop.a")) >= 4)
        before = len(pipeline.output.copied("L.shop.a"))
        pipeline.snapshotter.restart("history was lost")
        pipeline.run()
    assert pipeline.output.copied("L.shop.a")[before:] == NUMBERS


def test_new_filters_snapshot_added_collections(filled: Client) -> None:
    filled.crm.b.insert_one({"_id": 1})
    shop = Namespaces(include_databases=("shop",))
    with Pipeline(
        filled, namespaces=shop, progress=progress_at_start(SnapshotProgress(), "initial", shop)
    ) as pipeline:
        pipeline.run()
        filled.shop.later.insert_one({"_id": 5})
        pipeline.run()
        place = pipeline.output.places[-1]
    assert pipeline.output.copied("L.crm.b") == []
    stored = SnapshotProgress.from_json(place.progress)
    place.progress = progress_at_start(stored, "initial", Namespaces()).to_json()
    with Pipeline.restarted(filled, pipeline.output, place) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.crm.b") == [1]
    assert pipeline.output.copied("L.shop.a") == NUMBERS
    # The stream contained its insert.
    assert pipeline.output.copied("L.shop.later") == []


@dataclass
class Clock:
    """Seconds that do not advance."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_snapshot_waits_for_the_configured_delay(filled: Client) -> None:
    clock = Clock()
    settings = SnapshotSettings(chunk_size=5, delay_ms=5000)
    with Pipeline(filled, settings=settings, clock=clock) as pipeline:
        for _ in range(20):
            pipeline.step()
        assert pipeline.snapshotter.progress == INITIAL
        clock.now = 5.0
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == NUMBERS


def test_reader_of_one_database_finds_its_collections() -> None:
    """A user without `listDatabases` sees the databases that it may read."""
    users = [User("root", "open"), User("reader", "open", (("read", "shop"),))]
    with MongoReplicaSet(users=users) as replica_set:
        string = replica_set.connection_string
        with MongoClient[Any](string, username="root", password="open") as root:
            root.shop.a.insert_one({"_id": 1})
            root.crm.b.insert_one({"_id": 1})
        with MongoClient[Any](string, username="reader", password="open") as reader:
            assert [each.namespace for each in list_captured_collections(reader, Namespaces())] == [
                "shop.a"
            ]


def test_too_deep_document_is_a_snapshot_dead_letter(client: Client) -> None:
    """Its nesting exceeds the limit of messages; other documents are unaffected."""
    deep: dict[str, Any] = {}
    for _ in range(210):
        deep = {"a": deep}
    client.shop.a.insert_many([{"_id": 1}, {"_id": 2, "deep": deep}, {"_id": 3}])
    with Pipeline(client, settings=SnapshotSettings(chunk_size=5)) as pipeline:
        pipeline.run()
    assert pipeline.output.copied("L.shop.a") == [1, 3]
    (rejected,) = pipeline.output.rejected
    assert bson.decode(rejected.raw)["_id"] == 2
    assert "deep" in rejected.reason or "nested" in rejected.reason, rejected.reason
