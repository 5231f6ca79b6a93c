"""Collections with odd names, and collections that are renamed, replaced, dropped or recreated
during a snapshot: every document arrives, and the consumer ends with the server's data."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mongo_agent.check.server import check_reading
from mongo_agent.config import loading
from tests.support.mongodb.running_agent import Published, RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.sinks.memory_sink import MemorySink

COUNT = 24
SETTINGS: dict[str, Any] = {
    "snapshot_mode": "initial",
    "incremental_snapshot_chunk_size": 2,
    "snapshot_max_threads": 1,
    "database_include_list": "shop",
    "connect_max_attempts": 100_000,
}


def fill(writer: Client, *names: str) -> None:
    for name in names:
        writer.shop[name].insert_many([{"_id": n, "of": name} for n in range(COUNT)])


def rename(writer: Client) -> None:
    writer.shop.a.rename("c")
    writer.shop.c.insert_one({"_id": COUNT, "of": "c"})


def rename_twice(writer: Client) -> None:
    writer.shop.a.rename("b")
    writer.shop.b.rename("c")
    writer.shop.c.update_one({"_id": COUNT - 1}, {"$set": {"n": 1}})


def exchange(writer: Client) -> None:
    writer.shop.a.rename("x")
    writer.shop.b.rename("a")
    writer.shop.x.rename("b")


def replace(writer: Client) -> None:
    """Replace a captured collection whose snapshot is unfinished."""
    writer.shop.a.rename("b", dropTarget=True)


def drop(writer: Client) -> None:
    writer.shop.a.drop()


def create_again(writer: Client) -> None:
    writer.shop.a.drop()
    writer.shop.a.insert_many([{"_id": n, "of": "new"} for n in range(0, 2 * COUNT, 3)])


def drop_and_rename(writer: Client) -> None:
    writer.shop.b.drop()
    writer.shop.a.rename("b")


CHANGES: list[tuple[Callable[[Client], None], tuple[str, ...]]] = [
    (rename, ("a", "z")),
    (rename_twice, ("a", "z")),
    (exchange, ("a", "b", "z")),
    (replace, ("a", "b", "z")),
    (drop, ("a", "z")),
    (create_again, ("a", "z")),
    (drop_and_rename, ("a", "b", "z")),
]
changes = pytest.mark.parametrize(
    ("change", "names"), CHANGES, ids=[change.__name__ for change, _ in CHANGES]
)


def rebuilt(published: list[Published], name: str) -> dict[Any, Any]:
    """A collection as rebuilt from its topic. Drops have no messages, so documents of an older
    collection remain unless a newer one has their `_id`."""
    found: dict[Any, Any] = {}
    for each in published:
        if each.topic == f"p.shop.{name}":
            if each.after is None:
                found.pop(each.id, None)
            else:
                found[each.id] = each.after
    return found


def require_all(writer: Client, published: list[Published]) -> None:
    for name in writer.shop.list_collection_names():
        for document in writer.shop[name].find():
            assert rebuilt(published, name).get(document["_id"]) == document, name


def release(sink: MemorySink) -> None:
    """Let the sink accept and acknowledge everything."""
    sink.capacity, sink.automatic = None, True
    sink.acknowledge()


def settle(agent: RunningAgent, replica_set: MongoReplicaSet) -> None:
    agent.wait_until(lambda: not agent.is_snapshot_running and agent.has_begun, "the copies")
    last = replica_set.write_noop()
    replica_set.write_noop()
    agent.wait_until_stored(last)
    agent.wait_until(lambda: set(codes(agent)) <= {"collection_replaced"}, "no other condition")


def codes(agent: RunningAgent) -> list[str]:
    return [each.code for each in agent.service.status.status().conditions]


@changes
def test_renames_during_a_snapshot_lose_no_document(
    change: Callable[[Client], None],
    names: tuple[str, ...],
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
) -> None:
    fill(writer, *names)
    sink = MemorySink(automatic=False, capacity=6)
    with run_agent(sink, **SETTINGS) as agent:
        agent.wait_for(6)
        change(writer)
        release(sink)
        settle(agent, three_members)
        require_all(writer, agent.of_documents())


@pytest.mark.parametrize(
    ("change", "names"),
    [
        pytest.param(
            change,
            names,
            id=change.__name__,
            marks=() if change in (exchange, create_again) else pytest.mark.slow,
        )
        for change, names in CHANGES
    ],
)
def test_renames_while_stopped_lose_no_document(
    change: Callable[[Client], None],
    names: tuple[str, ...],
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
) -> None:
    """The renames occur while the agent is stopped, after its position."""
    change_while_stopped(change, names, three_members, writer, run_agent)


def test_upgrade_after_renames_loses_no_document(
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The position is from a release whose stream contained no drops and renames."""
    monkeypatch.setattr(loading, "NATIVE_EVENTS", ("invalidate",))

    def exchange_in_the_upgrade(writer: Client) -> None:
        monkeypatch.undo()
        exchange(writer)

    names = ("a", "b", "z")
    change_while_stopped(exchange_in_the_upgrade, names, three_members, writer, run_agent)


def change_while_stopped(
    change: Callable[[Client], None],
    names: tuple[str, ...],
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
) -> None:
    fill(writer, *names)
    stuck = MemorySink(automatic=False, capacity=16)
    with run_agent(stuck, **SETTINGS, shutdown_timeout_ms=1) as first:
        first.wait_for(16)
        stuck.acknowledge()
        first.wait_until(lambda: first.acknowledged >= 16, "the first documents")
        first.stop_at_once()
    change(writer)
    with run_agent(**SETTINGS) as second:
        settle(second, three_members)
        require_all(writer, [*first.of_documents(), *second.of_documents()])


def test_rename_to_an_uncaptured_name_ends_its_snapshot(
    three_members: MongoReplicaSet,
    writer: Client,
    run_agent: RunAgent,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The remaining documents are not copied; log and progress report it."""
    fill(writer, "a", "z")
    sink = MemorySink(automatic=False, capacity=6)
    captured = {"collection_include_list": "shop[.][a-z]"}
    with run_agent(sink, **SETTINGS, **captured) as agent:
        agent.wait_for(6)
        writer.shop.a.rename("other")
        release(sink)
        settle(agent, three_members)
        assert len(rebuilt(agent.of_documents(), "z")) == COUNT
        assert len(rebuilt(agent.of_documents(), "a")) < COUNT
    assert "to a name that is not captured" in caplog.text


def test_pipeline_without_renames_ends_only_affected_snapshot(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    """Without the new name this snapshot ends as after a drop; the others continue."""
    fill(writer, "a", "z")
    sink = MemorySink(automatic=False, capacity=6)
    only_inserts = json.dumps([{"$match": {"operationType": "insert"}}])
    with run_agent(sink, **SETTINGS, cursor_pipeline=only_inserts) as agent:
        agent.wait_for(6)
        writer.shop.a.rename("c")
        # Reads at a time before the rename would still find the collection.
        writer.shop.z.insert_one({"_id": COUNT, "of": "z"})
        release(sink)
        settle(agent, three_members)
        assert len(rebuilt(agent.of_documents(), "z")) == COUNT + 1
        assert len(rebuilt(agent.of_documents(), "a")) < COUNT


# Servers accept names with dots, drivers reject them.
ODD_NAMES = (
    "a.b",
    "a..b",
    "a.",
    "a b",
    'a"b\\',
    "a/b*",
    "system",
    "\x01\x7f",
    "\ufffe\u202e",
    "\N{LATIN SMALL LETTER O WITH DIAERESIS}\U0001f600",
    "x" * 230,
)


def test_odd_collection_names_are_copied_and_streamed(writer: Client, run_agent: RunAgent) -> None:
    """A pattern selects each of them."""

    def insert(number: int) -> None:
        for name in ODD_NAMES:
            writer.shop.command("insert", name, documents=[{"_id": number}])

    insert(1)
    assert [found for name in ODD_NAMES for found in check_reading(writer, "shop", name)] == []
    with run_agent(**SETTINGS, collection_include_list="shop[.](?s:.*)") as agent:
        agent.wait_for(len(ODD_NAMES))
        insert(2)
        published = agent.wait_for(2 * len(ODD_NAMES))
        agent.wait_until(lambda: not agent.service.status.status().conditions, "a green health")
    for kind, number in (("read", 1), ("insert", 2)):
        found = [each for each in published if each.kind == kind]
        assert {each.id for each in found} == {number}
        assert sorted(each.value["source"]["collection"] for each in found) == sorted(ODD_NAMES)
