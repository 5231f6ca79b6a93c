"""Executing a printed remedy resolves its fault."""

import re
import shlex
import subprocess
from pathlib import Path

from sidecar.health.condition import Condition
from tests.support.mongodb.agent_command import mongo_agent
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

_COMMAND = re.compile(r"`((?:mongo-agent|mv) [^`]*)`")
REJECTED = "snapshot_collection_rejected"


def filter_of(name: str, query: str) -> dict[str, str]:
    setting = "snapshot.collection.filter.overrides"
    return {"snapshot.mode": "initial", setting: name, f"{setting}.{name}": query}


def shown(agent: RunningAgent, code: str) -> list[Condition]:
    return [each for each in agent.service.status.status().conditions if each.code == code]


def commands_of(agent: RunningAgent, code: str) -> list[str]:
    """Commands of a condition, as soon as it exists."""
    agent.wait_until(lambda: bool(shown(agent, code)), code)
    (condition,) = shown(agent, code)
    return _COMMAND.findall(condition.remedy)


def paste(command: str, agent: RunningAgent) -> None:
    program, *words = shlex.split(command)
    if program == "mongo-agent":
        done = mongo_agent(*words, "--url", agent.url)
        assert done.exit_code == 0, (command, done)
    else:
        subprocess.run(["sh", "-c", command], check=True)


def wait_for_the_end(agent: RunningAgent, code: str) -> None:
    agent.wait_until(lambda: not shown(agent, code), f"the end of {code}")


def test_lost_changes_remedies_resolve_the_condition(
    writer: Client, three_members: MongoReplicaSet, tmp_path: Path
) -> None:
    """The directory's name contains a space."""

    def agent_of(folder: Path) -> RunningAgent:
        string = three_members.connection_string
        return RunningAgent(folder, string, snapshot_mode="when_needed")

    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    with agent_of(tmp_path / "a b") as agent:
        agent.wait_for(3)
        last = three_members.write_noop()
        three_members.write_noop()
        agent.wait_until_stored(last)
    three_members.write_noop()
    three_members.truncate_oplog()
    with agent_of(tmp_path / "a b") as agent:
        copy, move = commands_of(agent, "changes_lost")
        agent.wait_for(3)
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the first copy")
        paste(copy, agent)
        assert [each.kind for each in agent.wait_for(6)] == ["read"] * 6
        paste(move, agent)
        wait_for_the_end(agent, "changes_lost")


def test_rejected_filter_remedy_skips_the_collection(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_one({"_id": 1})
    with run_agent(properties=filter_of("shop.a", '{"$wrong": 1}')) as agent:
        _, skip = commands_of(agent, REJECTED)
        paste(skip, agent)
        wait_for_the_end(agent, REJECTED)
        assert agent.of_documents() == []


def test_rejected_filter_remedy_applies_another_filter(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(3)])
    with run_agent(properties=filter_of("shop.a", '{"$wrong": 1}')) as agent:
        start, _ = commands_of(agent, REJECTED)
        paste(start.replace("QUERY", shlex.quote('{"_id": 1}')), agent)
        wait_for_the_end(agent, REJECTED)
        assert [each.id for each in agent.wait_for(1)] == [1]
