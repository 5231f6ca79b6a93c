"""A replica set, a client of it, and an agent beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.sinks.memory_sink import MemorySink


@pytest.fixture
def three_members() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=3) as started:
        yield started


@pytest.fixture
def writer(three_members: MongoReplicaSet) -> Iterator[MongoClient[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](three_members.connection_string) as connected:
        yield connected


@pytest.fixture
def run_agent(tmp_path: Path, three_members: MongoReplicaSet) -> RunAgent:
    """Properties are named with `_` for `.`; each agent goes on where the last one was."""

    def run(sink: MemorySink | None = None, **properties: object) -> RunningAgent:
        string = three_members.connection_string
        return RunningAgent(tmp_path / "offsets", string, sink=sink, **properties)

    return run
