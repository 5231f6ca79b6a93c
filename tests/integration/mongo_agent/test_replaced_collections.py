"""Sequences of drops, renames and swaps: afterwards each topic contains the server's data, or the
status reports the collection and the command that restores it."""

import json
import random
import re
import shlex
from collections.abc import Iterable
from typing import Any

import pytest
from bson import ObjectId

from mongo_agent.check.connection_diagnostics import connect
from mongo_agent.compare.comparison import ComparedCollection
from mongo_agent.compare.topic_comparison import compare
from mongo_agent.service import create_service
from mongo_agent.snapshot import topic_sweep
from sidecar.health.condition import Condition
from sidecar.sinks.kafka.topics.reader import TopicRecord
from tests.support.mongodb.agent_command import mongo_agent
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.kafka import KafkaBroker
from tests.support.sinks.memory_sink import MemorySink

NAMES = ("a", "b", "c")
SETTINGS: dict[str, Any] = {
    "snapshot.mode": "initial",
    "incremental.snapshot.chunk.size": 2,
    "collection.include.list": "shop[.][a-c]",
    "sink": "kafka",
    "kafka.producer.bootstrap.servers": "127.0.0.1:9",
}
_COMMAND = re.compile(r"`mongo-agent ([^`]+)`")


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> MemorySink:
    """Its messages are the topics that the agent reads."""
    made = MemorySink()

    def records(_: object, topic: str, __: float) -> Iterable[TopicRecord]:
        for _number, (name, key, value, headers, _time) in list(made.messages):
            if name == topic:
                yield TopicRecord(key, value, headers)

    module = "mongo_agent.pipeline.stream_factory"
    topics = {f"p.shop.{name}": 1 for name in NAMES}
    monkeypatch.setattr(f"{module}.existing_topics", lambda *_: topics)
    monkeypatch.setattr(f"{module}.committed_records", records)
    return made


class History:
    """Random changes; `step` makes one."""

    def __init__(self, writer: Client, seed: int) -> None:
        self._writer = writer
        self._random = random.Random(seed)
        self._value = 0

    def step(self) -> None:
        chosen = self._random.choices(
            (self.write, self.drop, self.rename, self.swap, self.put_over, self.fill_aside),
            (6, 2, 2, 2, 1, 1),
        )[0]
        chosen()

    def write(self) -> None:
        name = self._random.choice(NAMES)
        for number in self._random.sample(range(9), 4):
            self._value += 1
            self._writer.shop[name].replace_one(
                {"_id": number}, {"_id": number, "value": self._value}, upsert=True
            )
        self._writer.shop[name].delete_one({"_id": self._random.randrange(9)})

    def drop(self) -> None:
        if self._random.randrange(4) == 0:
            self._writer.drop_database("shop")
        else:
            self._writer.shop[self._random.choice(NAMES)].drop()

    def rename(self) -> None:
        """Also from and to an uncaptured name, with and without `dropTarget`."""
        source, target = self._random.sample((*NAMES, "other"), 2)
        if source in self._writer.shop.list_collection_names():
            self._writer.shop[source].rename(target, dropTarget=True)

    def swap(self) -> None:
        """As in a weekly load: the new collection takes the name of the old one."""
        new, name = self._random.sample(NAMES, 2)
        self._writer.shop.old.drop()
        if {new, name} <= set(self._writer.shop.list_collection_names()):
            self._writer.shop[name].rename("old")
            self._writer.shop[new].rename(name)
            self._writer.shop[name].update_many({}, {"$set": {"swapped": True}})

    def put_over(self) -> None:
        """Like `$out`."""
        self._value += 1
        documents = [{"_id": n, "value": self._value} for n in self._random.sample(range(9), 3)]
        self._writer.shop["tmp.agg_out.1"].insert_many(documents)
        self._writer.shop["tmp.agg_out.1"].rename(self._random.choice(NAMES), dropTarget=True)

    def fill_aside(self) -> None:
        self._writer.shop.other.replace_one({"_id": 20}, {"_id": 20}, upsert=True)


def contents(writer: Client) -> dict[str, dict[int, Any]]:
    return {
        name: {document["_id"]: document for document in writer.shop[name].find()} for name in NAMES
    }


def topics(agent: RunningAgent) -> dict[str, dict[int, Any]]:
    """Last state of each key."""
    found: dict[str, dict[int, Any]] = {name: {} for name in NAMES}
    for each in agent.of_documents():
        name = each.topic.rpartition(".")[2]
        if each.after is None:
            found[name].pop(each.id, None)
        else:
            found[name][each.id] = each.after
    return found


def settle(agent: RunningAgent, replica_set: MongoReplicaSet) -> None:
    """Wait until the agent has processed everything, and no snapshot or sweep runs."""
    last = replica_set.write_noop()
    replica_set.write_noop()
    agent.wait_until_stored(last)
    wait_for_snapshots(agent)


def wait_for_snapshots(agent: RunningAgent) -> None:
    """Wait until no snapshot or sweep is pending in the stored offsets."""

    def is_still() -> bool:
        values = json.loads(str(dict(agent.service.status.offsets()["stored"])["copies"]))  # type: ignore[call-overload]
        pending = [each for each in values.get("replaced", ()) if each.get("is_requested")]
        return not pending and not values.get("collections") and not values.get("requests")

    agent.wait_until(is_still, "the end of snapshots and sweeps")


def reported(agent: RunningAgent) -> list[Condition]:
    return [
        each
        for each in agent.service.status.status().conditions
        if each.code == "collection_replaced"
    ]


def follow_remedy(agent: RunningAgent, condition: Condition) -> None:
    """Run the command."""
    command = _COMMAND.search(condition.remedy)
    assert command is not None, condition.remedy
    done = mongo_agent(*shlex.split(command[1]), "--url", agent.url)
    assert done.exit_code == 0, done


def different(writer: Client, agent: RunningAgent) -> list[str]:
    source, target = contents(writer), topics(agent)
    return [name for name in NAMES if source[name] != target[name]]


def seeds(first: int) -> list[Any]:
    return [first, *(pytest.param(first + each, marks=pytest.mark.slow) for each in (1, 2))]


@pytest.mark.parametrize("seed", seeds(0))
def test_outdated_topics_are_reported_with_a_remedy(
    seed: int, sink: MemorySink, writer: Client, three_members: MongoReplicaSet, run_agent: RunAgent
) -> None:
    history = History(writer, seed)
    history.write()
    with run_agent(sink, properties=SETTINGS) as agent:
        agent.wait_until_streaming()
        for _ in range(10):
            history.step()
            settle(agent, three_members)
            behind = different(writer, agent)
            conditions = reported(agent)
            named = " ".join(each.message for each in conditions)
            assert all(f"shop.{name} (" in named for name in behind), (behind, named)
            for condition in conditions:
                follow_remedy(agent, condition)
            settle(agent, three_members)
            assert different(writer, agent) == []
            agent.wait_until(lambda: not reported(agent), "the end of the condition")


@pytest.mark.parametrize("seed", seeds(3))
def test_resnapshot_policy_keeps_topics_current(
    seed: int,
    sink: MemorySink,
    writer: Client,
    three_members: MongoReplicaSet,
    run_agent: RunAgent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a check after each step, in small batches, and across a restart."""
    monkeypatch.setattr(topic_sweep, "_BATCH", 2)
    history = History(writer, seed)
    history.write()
    for steps in (4, 7, 10):
        policy = {"collection.replaced.policy": "resnapshot"}
        with run_agent(sink, properties={**SETTINGS, **policy}) as agent:
            agent.wait_until_streaming()
            for _ in range(steps):
                history.step()
            if steps == 4:
                agent.stop_at_once()
                continue
            settle(agent, three_members)
            assert different(writer, agent) == []
            assert reported(agent) == []


def compared(agent: RunningAgent, *names: str) -> dict[str, ComparedCollection]:
    config = agent.configuration()
    with connect(config) as (client, deployment):
        found = compare(client, config, deployment, names, wait_s=60)
    return {each.collection: each for each in found}


@pytest.mark.servers
def test_compare_and_remedy_handle_swaps_and_drops(
    broker: KafkaBroker, topic_prefix: str, writer: Client, run_agent: RunAgent
) -> None:
    """`compare` finds the differences, also of a dropped collection, until the command has run."""
    properties = {
        "topic.prefix": topic_prefix,
        "sink": "kafka",
        "topic.creation.enable": "true",
        "topic.creation.default.partitions": 3,
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "snapshot.mode": "initial",
        "database.include.list": "shop",
    }
    shop = writer.shop
    shop.data.insert_many([{"_id": n, "week": 1} for n in range(40)])
    shop.gone.insert_many([{"_id": ObjectId()} for _ in range(3)])
    agent = run_agent(properties=properties)
    agent.service = create_service(agent.configuration())
    with agent:
        agent.wait_until(lambda: agent.has_begun and not agent.is_snapshot_running, "the copies")
        for week, over in ((2, False), (3, True)):
            shop.data_new.insert_many([{"_id": n, "week": week} for n in range(20, 50 + week)])
            if not over:
                shop.data.rename("data_old")
            shop.data_new.rename("data", dropTarget=over)
        shop.gone.drop()
        agent.wait_until(lambda: "shop.gone" in str(reported(agent)), "the report")
        found = compared(agent)
        counts = {name: (each.missing, each.surplus) for name, each in found.items()}
        # Week 1 leaves documents that week 3 lacks; week 3 has new versions of the others.
        assert counts["shop.data"] == (13, 20)
        assert found["shop.data"].different == 20
        assert counts["shop.gone"] == (0, 3)
        assert counts["shop.data_new"] == (0, 33)
        (condition,) = reported(agent)
        follow_remedy(agent, condition)
        agent.wait_until(lambda: not reported(agent), "the end of the condition")
        wait_for_snapshots(agent)
        after = compared(agent, "shop.data", "shop.data_old", "shop.data_new", "shop.gone")
        assert [name for name, each in after.items() if not each.is_equal] == []
        assert after["shop.data"].equal == 33
