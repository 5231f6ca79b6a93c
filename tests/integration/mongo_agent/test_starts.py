"""Starts of the agent: snapshot modes, limits, pipeline stages, and existing state."""

import json
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.capture.stream_pipeline import Order, ordered_stages
from sidecar.errors import ConfigError
from tests.support.mongodb.running_agent import Published, RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, User
from tests.support.mongodb.server.client import Client


def reads(published: list[Published]) -> list[Any]:
    return [each.id for each in published if each.kind == "read"]


def test_initial_mode_copies_once_then_streams(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    with run_agent(snapshot_mode="initial") as agent:
        agent.wait_for(3)
        writer.shop.a.insert_one({"_id": 3})
        published = agent.wait_for(4)
    assert [each.kind for each in published] == ["read"] * 3 + ["insert"]
    marks = [each.value["source"]["snapshot"] for each in published]
    assert marks == ["first", "true", "last", "false"]
    with run_agent(snapshot_mode="initial").streaming() as agent:
        writer.shop.a.insert_one({"_id": 4})
        assert [(each.kind, each.id) for each in agent.wait_for(1)] == [("insert", 4)]


def test_always_mode_copies_at_every_start(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    for _ in range(2):
        with run_agent(snapshot_mode="always") as agent:
            assert reads(agent.wait_for(3)) == [0, 1, 2]


def test_when_needed_mode_copies_after_lost_history(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet, tmp_path: Path
) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    with run_agent(snapshot_mode="when_needed") as agent:
        agent.wait_for(3)
    writer.shop.a.delete_one({"_id": 1})
    writer.shop.a.insert_one({"_id": 7})
    three_members.write_noop()
    three_members.truncate_oplog()
    with run_agent(snapshot_mode="when_needed") as agent:
        published = agent.wait_for(3)
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copy")
        writer.shop.a.insert_one({"_id": 8})
        agent.wait_for(4)
    assert reads(published) == [0, 2, 7]
    gap = json.loads((tmp_path / "offsets" / "quarantine" / "gaps.ndjson").read_text())
    assert "oplog" in gap["reason"]


def test_stream_of_a_missing_target_waits_for_it(writer: Client, run_agent: RunAgent) -> None:
    scope = {"capture_scope": "collection", "capture_target": "late.a"}
    with run_agent(**scope).streaming() as agent:
        writer.late.a.insert_one({"_id": 1})
        assert [each.id for each in agent.wait_for(1)] == [1]


def test_fields_are_excluded_and_renamed(writer: Client, run_agent: RunAgent) -> None:
    rules = {"field_exclude_list": "shop.a.secret", "field_renames": "shop.*.n:count"}
    with run_agent(**rules).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1, "secret": "x", "n": 1})
        writer.shop.a.update_one({"_id": 1}, {"$set": {"secret": "y", "n": 2}})
        insert, update = agent.wait_for(2)
    assert insert.after == {"_id": 1, "count": 1}
    assert update.after == {"_id": 1, "count": 2}
    assert json.loads(update.value["updateDescription"]["updatedFields"]) == {"count": 2}


def test_second_agent_of_one_directory_is_rejected(run_agent: RunAgent, writer: Client) -> None:
    with run_agent().streaming() as first:
        second: RunningAgent = run_agent()
        with second:
            error = second.wait_until_ended()
        assert "is locked by" in str(error)
        writer.shop.a.insert_one({"_id": 1})
        first.wait_for(1)


def test_collection_limit_ends_the_agent_or_warns(
    writer: Client, run_agent: RunAgent, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b", "c"):
        writer.shop[name].insert_one({"_id": 1})
    most = {"guardrail_collections_max": 2}
    with run_agent(**most, guardrail_collections_limit_action="fail") as agent:
        error = agent.wait_until_ended()
    assert isinstance(error, ConfigError)
    assert "The agent captures 3 collections; `guardrail.collections.max=2`" in str(error)
    caplog.clear()
    with run_agent(**most).streaming() as agent:
        writer.shop.d.insert_one({"_id": 1})
        agent.wait_for(1)
    assert "`guardrail.collections.max=2` allows fewer" in caplog.text
    caplog.clear()
    with run_agent(**most, collection_include_list="shop[.]a,shop[.]b") as agent:
        agent.wait_until_streaming()
    assert "guardrail" not in caplog.text


@pytest.mark.parametrize("is_file_first", [True, False], ids=["file first", "server first"])
def test_changed_mongodb_password_needs_no_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file_first: bool
) -> None:
    """The agent keeps its open client if MongoDB does not accept the new password yet."""
    monkeypatch.setattr("mongo_agent.service.connection._LOGIN_S", 0.02)
    secret = tmp_path / "password"
    secret.write_text("first")
    root = User("root", "open")
    with MongoReplicaSet(users=[root, User("cdc", "first")]) as servers:
        agent = RunningAgent(
            tmp_path / "agent",
            servers.connection_string,
            {
                "mongodb.user": "cdc",
                "mongodb.password": f"${{file:{secret}}}",
                "mongodb.authsource": "admin",
            },
        )
        with (
            Client(servers.connection_string, username="root", password="open") as client,
            agent.streaming(),
        ):
            client.shop.a.insert_one({"_id": 1})
            agent.wait_for(1)

            def change_file() -> None:
                secret.write_text("second")

            def change_server() -> None:
                servers.set_users([root, User("cdc", "second")])
                servers.drop_connections()

            steps = [change_file, change_server]
            for number, step in enumerate(steps if is_file_first else reversed(steps), 2):
                step()
                client.shop.a.insert_one({"_id": number})
            agent.wait_until(
                lambda: {each.id for each in agent.published} == {1, 2, 3}, "the later events"
            )


INTERNAL, OWN = {"$match": {"a": 1}}, {"$match": {"b": 1}}
PAID = r'[{"$match": {"fullDocument.status": "paid"}}]'


@pytest.mark.parametrize(
    ("order", "wanted"),
    [("internal_first", [INTERNAL, OWN]), ("user_first", [OWN, INTERNAL]), ("user_only", [OWN])],
)
def test_user_stages_are_ordered(order: Order, wanted: list[object]) -> None:
    assert ordered_stages([INTERNAL], [OWN], order) == wanted
    assert ordered_stages([INTERNAL], [], order) == [INTERNAL]


@pytest.mark.parametrize("order", ["internal_first", "user_first", "user_only"])
def test_excluded_collections_are_filtered(writer: Client, run_agent: RunAgent, order: str) -> None:
    """The lists apply in each order, because the agent filters each event again."""
    chosen = {
        "cursor_pipeline": PAID,
        "cursor_pipeline_order": order,
        "collection_include_list": r"shop[.]orders",
    }
    with run_agent(**chosen).streaming() as agent:
        for number, status in enumerate(("open", "paid", "open", "paid")):
            writer.shop.orders.insert_one({"_id": number, "status": status})
            writer.shop.carts.insert_one({"_id": number, "status": status})
        published = agent.wait_for(2)
    assert [(each.topic, each.id) for each in published] == [
        ("p.shop.orders", 1),
        ("p.shop.orders", 3),
    ]


def test_user_stages_can_change_fields(writer: Client, run_agent: RunAgent) -> None:
    """The server executes the stages: the agent publishes their result."""
    hidden = '[{"$set": {"fullDocument.card": "hidden"}}, {"$unset": "fullDocument.pin"}]'
    with run_agent(cursor_pipeline=hidden).streaming() as agent:
        writer.shop.orders.insert_one({"_id": 1, "card": "1234", "pin": 5})
        (published,) = agent.wait_for(1)
    assert published.after == {"_id": 1, "card": "hidden"}
