"""A snapshot into a real broker with outages, by an agent that is killed."""

from collections import Counter
from dataclasses import dataclass

import orjson

from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.kafka import KafkaBroker

ROWS = 1600
ROWS_PER_SECOND = 200
WINDOW_EVENTS = 400
_MEANWHILE = range(ROWS, ROWS + 50)


@dataclass(frozen=True, slots=True)
class Copied:
    """Number of copies of each row: with a broker outage, and with a killed agent."""

    outage: Counter[int]
    kill: Counter[int]


def copy_through_outages(node: CassandraNode, broker: KafkaBroker, agent: Agent) -> Copied:
    """The agent copies `shop.stock` into the broker, and is not started yet. On return all rows
    have arrived, including those of the log."""
    table, topic = "shop.stock", "x.shop.stock"
    broker.create_topic(topic)
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text)")
    for number in range(ROWS):
        node.execute(f"INSERT INTO {table} (id, v) VALUES ({number}, 'before')")
    node.execute(f"ALTER TABLE {table} WITH cdc = true")

    def wait_until_half() -> None:
        agent.process.wait_until(
            lambda: 10 < agent.copy_of(table).get("percent", 0) < 90, "a part of it"
        )

    agent.process.launch()
    wait_until_half()
    broker.kill()
    for number in _MEANWHILE:
        node.execute(f"INSERT INTO {table} (id, v) VALUES ({number}, 'meanwhile')")
    agent.process.wait_until(lambda: _sink_is_away(agent), "it to be said")
    assert agent.copy_of(table)["state"] == "copying"
    broker.start()
    agent.wait_for(table, "completed")
    agent.process.wait_until(
        lambda: _arrived(broker, topic, is_copied=False).keys() >= set(_MEANWHILE), "the log"
    )
    outage = _arrived(broker, topic, is_copied=True)

    assert "Started" in agent.post("start", table)
    wait_until_half()
    agent.process.kill()
    agent.process.launch()
    agent.wait_for(table, "completed")
    agent.process.stop()
    return Copied(outage, _arrived(broker, topic, is_copied=True) - outage)


def _sink_is_away(agent: Agent) -> bool:
    parts = (agent.process.ask("/health") or {"components": {}})["components"]
    return "sink" in parts and parts["sink"]["status"] == "failing"


def _arrived(broker: KafkaBroker, topic: str, *, is_copied: bool) -> Counter[int]:
    """Number of times that a row is in the topic, from the snapshot or from the log."""
    found: Counter[int] = Counter()
    for record in broker.consume_all(topic):
        assert record.key is not None
        assert record.value is not None
        if (orjson.loads(record.value)["source"]["snapshot"] == "true") == is_copied:
            found[orjson.loads(record.key)["id"]] += 1
    return found
