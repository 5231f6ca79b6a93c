"""A server with the profile of Amazon DocumentDB 5.0: only `resumeAfter`, opaque tokens, no causal
reads, and change streams only where enabled."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.check.checks import CHECKS
from mongo_agent.check.probe import open_probe
from sidecar.check.check import Finding, Level
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client, write_through_election


@pytest.fixture
def documentdb() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=2, version="5.0.0", is_documentdb=True) as started:
        yield started


@pytest.fixture
def writer(documentdb: MongoReplicaSet) -> Iterator[Client]:
    with Client(documentdb.connection_string) as client:
        yield client


@pytest.fixture
def enabled(writer: Client) -> Client:
    writer.admin.command("modifyChangeStreams", 1, database="", collection="", enable=True)
    return writer


def run_agent(tmp_path: Path, documentdb: MongoReplicaSet, **properties: Any) -> RunningAgent:
    return RunningAgent(tmp_path / "offsets", documentdb.connection_string, **properties)


def findings(agent: RunningAgent) -> list[Finding]:
    wanted = {"change stream", "deployment", "enabled streams", "position"}
    with open_probe(agent.configuration()) as probe:
        return [each for check in CHECKS if check.name in wanted for each in check.find(probe)]


def test_stream_of_documentdb_resumes_after_restarts_and_elections(
    tmp_path: Path, documentdb: MongoReplicaSet, enabled: Client
) -> None:
    for start in (0, 10):
        with run_agent(tmp_path, documentdb).streaming() as agent:
            enabled.shop.a.insert_many([{"_id": number} for number in range(start, start + 5)])
            agent.wait_for(5)
            documentdb.step_down()
            for number in range(start + 5, start + 9):
                insert = partial(enabled.shop.a.insert_one, {"_id": number})
                write_through_election(insert, f"the insert of {number}")
            assert [each.id for each in agent.wait_for(9)] == list(range(start, start + 9))
        enabled.shop.a.insert_one({"_id": start + 9})
        with run_agent(tmp_path, documentdb) as agent:
            assert [each.id for each in agent.wait_for(1)] == [start + 9]
            assert [each.code for each in findings(agent) if each.level is Level.FAULT] == []


def test_documentdb_invalidation_loses_no_event(
    tmp_path: Path, documentdb: MongoReplicaSet, enabled: Client
) -> None:
    scope = {"capture_scope": "collection", "capture_target": "shop.a"}
    with run_agent(tmp_path, documentdb, **scope).streaming() as agent:
        enabled.shop.a.insert_one({"_id": 0})
        enabled.shop.a.drop()
        enabled.shop.a.insert_one({"_id": 1})
        assert [each.id for each in agent.wait_for(2)] == [0, 1]
        enabled.shop.a.drop()
    enabled.shop.a.insert_one({"_id": 2})
    with run_agent(tmp_path, documentdb, **scope) as agent:
        assert [each.id for each in agent.wait_for(1)] == [2]
        enabled.shop.a.insert_one({"_id": 3})
        assert [each.id for each in agent.wait_for(2)] == [2, 3]


def test_documentdb_filter_change_loses_no_event(
    tmp_path: Path, documentdb: MongoReplicaSet, enabled: Client
) -> None:
    """If the filters remove the token's event, the agent uses the time and repeats events."""
    with run_agent(tmp_path, documentdb).streaming() as agent:
        enabled.shop.a.insert_one({"_id": 0})
        agent.wait_for(1)
    enabled.shop.b.insert_one({"_id": 1})
    with run_agent(tmp_path, documentdb, collection_include_list="shop[.]b") as agent:
        assert [each.id for each in agent.wait_for(1)] == [1]


def test_disabled_documentdb_streams_are_reported(
    tmp_path: Path, documentdb: MongoReplicaSet, writer: Client
) -> None:
    """Such streams would open and remain empty."""
    writer.shop.a.insert_one({"_id": 0})
    writer.crm.b.insert_one({"_id": 0})
    agent = run_agent(tmp_path, documentdb)

    def disabled() -> list[str]:
        return [each.message for each in findings(agent) if each.code == "change_streams_disabled"]

    assert "crm.b, shop.a" in disabled()[0]
    writer.admin.command("modifyChangeStreams", 1, database="crm", collection="", enable=True)
    assert "crm.b" not in disabled()[0]
    writer.admin.command("modifyChangeStreams", 1, database="shop", collection="a", enable=True)
    assert disabled() == []
