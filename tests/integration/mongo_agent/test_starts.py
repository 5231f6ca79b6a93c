"""What an agent does at a start, by its modes and by what was there before."""

import json
from pathlib import Path
from typing import Any

from tests.support.mongodb.running_agent import Published, RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client


def reads(published: list[Published]) -> list[Any]:
    return [each.id for each in published if each.kind == "read"]


def test_initial_copies_once_and_streams_on(writer: Client, run_agent: RunAgent) -> None:
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


def test_always_copies_at_every_start(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    for _ in range(2):
        with run_agent(snapshot_mode="always") as agent:
            assert reads(agent.wait_for(3)) == [0, 1, 2]


def test_lost_history_is_copied_again_where_that_is_wanted(
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


def test_a_target_that_is_not_there_yet(writer: Client, run_agent: RunAgent) -> None:
    scope = {"capture_scope": "collection", "capture_target": "late.a"}
    with run_agent(**scope).streaming() as agent:
        writer.late.a.insert_one({"_id": 1})
        assert [each.id for each in agent.wait_for(1)] == [1]


def test_fields_that_are_left_out_or_renamed(writer: Client, run_agent: RunAgent) -> None:
    rules = {"field_exclude_list": "shop.a.secret", "field_renames": "shop.*.n:count"}
    with run_agent(**rules).streaming() as agent:
        writer.shop.a.insert_one({"_id": 1, "secret": "x", "n": 1})
        writer.shop.a.update_one({"_id": 1}, {"$set": {"secret": "y", "n": 2}})
        insert, update = agent.wait_for(2)
    assert insert.after == {"_id": 1, "count": 1}
    assert update.after == {"_id": 1, "count": 2}
    assert json.loads(update.value["updateDescription"]["updatedFields"]) == {"count": 2}


def test_two_agents_of_one_directory(run_agent: RunAgent, writer: Client) -> None:
    with run_agent().streaming() as first:
        second: RunningAgent = run_agent()
        with second:
            error = second.wait_until_ended()
        assert "is locked by" in str(error)
        writer.shop.a.insert_one({"_id": 1})
        first.wait_for(1)
