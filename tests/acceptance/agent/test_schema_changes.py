"""The schema-change topic beside real nodes: every DDL once by id, before the events that use it,
also when the agent is killed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

DEADLINE_S = 300.0
MODES = {"5.0.9": "CASSANDRA_4", "6.0-alpha2": "NONE"}


@dataclass(frozen=True)
class Change:
    """A message of the schema-change topic."""

    id: str
    type: str
    table: str
    ddl: str
    columns: tuple[str, ...]
    value: Mapping[str, Any]
    timestamp_ms: int


def change(record: KafkaRecord) -> Change:
    value, headers = orjson.loads(record.value or b""), dict(record.headers)
    (table_change,) = value["tableChanges"]
    table = table_change["table"] or {"columns": []}
    assert orjson.loads(record.key or b"") == {"databaseName": value["databaseName"]}
    assert headers["cdc.kind"] == b"schema"
    return Change(
        headers["cdc.id"].hex(),
        table_change["type"],
        table_change["id"],
        value["ddl"],
        tuple(column["name"] for column in table["columns"]),
        value,
        record.timestamp_ms,
    )


class Story:
    """A node, its agent and the topics."""

    def __init__(self, node: CassandraNode, broker: KafkaBroker, directory: Path) -> None:
        self.node = node
        self.broker = broker
        self.topic = f"shop-{node.version}"
        properties = {
            "topic.prefix": self.topic,
            "include.schema.changes": "true",
            "cassandra.config": node.yaml,
            "cdc.raw.directory": node.cdc_raw,
            "offset.backing.store.dir": directory / "offsets",
            "commit.log.relocation.dir": directory / "relocation",
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
            "snapshot.mode": "never",
        }
        for name in ("offsets", "relocation"):
            (directory / name).mkdir(parents=True)
        self.agent = AgentProcess("agent", directory, properties)

    def changes(self) -> list[Change]:
        if self.topic not in self.broker.topics():
            return []
        return [change(record) for record in self.broker.consume_all(self.topic)]

    def first_changes(self) -> list[Change]:
        """Without repeats."""
        return list({each.id: each for each in reversed(self.changes())}.values())[::-1]

    def events(self, table: str) -> list[tuple[int, dict[str, Any]]]:
        """Time of the record and `after` of each event."""
        topic = f"{self.topic}.{table}"
        if topic not in self.broker.topics():
            return []
        records = self.broker.consume_all(topic)
        return [(each.timestamp_ms, orjson.loads(each.value or b"")["after"]) for each in records]

    def wait_for_changes(self, count: int) -> None:
        self.agent.wait_until(
            lambda: len(self.first_changes()) >= count, f"{count} schema changes", DEADLINE_S
        )

    def wait_for_events(self, table: str, count: int) -> None:
        self.agent.wait_until(
            lambda: len(self.events(table)) >= count, f"{count} events of {table}", DEADLINE_S
        )

    def kill(self) -> None:
        self.agent.kill()
        self.agent.launch()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), heap_mib=256) as broker:
        yield broker


@pytest.fixture(params=MODES)
def story(request: pytest.FixtureRequest, broker: KafkaBroker, tmp_path: Path) -> Iterator[Story]:
    version = request.param
    settings = NodeSettings(commitlog_sync_period_ms=100, storage_compatibility_mode=MODES[version])
    with CassandraNode(tmp_path / "node", version=version, settings=settings) as node:
        story = Story(node, broker, tmp_path / "agent")
        try:
            yield story
        finally:
            story.agent.end()


STATEMENTS = (
    ("CREATE", "a", "CREATE TABLE s.a (k int PRIMARY KEY, v int) WITH cdc = true"),
    ("ALTER", "a", "ALTER TABLE s.a ADD note text"),
    ("CREATE", "b", "CREATE TABLE s.b (k int, c int, PRIMARY KEY (k, c)) WITH cdc = true"),
    ("ALTER", "a", "ALTER TABLE s.a DROP note"),
    ("ALTER", "a", "ALTER TABLE s.a ADD u frozen<point>"),
    ("ALTER", "a", "ALTER TYPE s.point ADD z int"),
    ("DROP", "b", "DROP TABLE s.b"),
)


def test_every_change_has_a_message_before_the_events_that_use_it(story: Story) -> None:
    node, agent = story.node, story.agent
    keyspace = "CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', %s: 1}"
    node.execute(keyspace % "'replication_factor'")
    node.execute("CREATE TYPE s.point (x int, y int)")
    statements = [cql for _, _, cql in STATEMENTS]
    node.execute(statements[0])
    agent.launch()
    story.wait_for_changes(1)

    node.execute(statements[1])
    node.execute("INSERT INTO s.a (k, v, note) VALUES (1, 1, 'x')")
    story.kill()
    story.wait_for_events("s.a", 1)
    node.execute(statements[2])
    node.execute("INSERT INTO s.b (k, c) VALUES (1, 1)")
    story.wait_for_events("s.b", 1)
    story.kill()
    node.execute(statements[3])
    node.execute("INSERT INTO s.a (k, v) VALUES (2, 2)")
    node.execute(statements[4])
    story.kill()
    node.execute(statements[5])
    node.execute("INSERT INTO s.a (k, u) VALUES (3, {x: 1, y: 2, z: 3})")
    node.execute(statements[6])
    node.execute("INSERT INTO s.a (k, v) VALUES (4, 4)")
    story.wait_for_changes(len(STATEMENTS))
    story.wait_for_events("s.a", 4)
    agent.stop()

    changes = story.first_changes()
    found = [(each.type, each.table) for each in changes]
    assert found == [(kind, f'"s"."{table}"') for kind, table, _ in STATEMENTS]
    assert [each.value["source"]["snapshot"] for each in changes] == ["true", *["false"] * 6]
    sent = [each.ddl for each in changes]
    if node.version.startswith("6."):
        # The node completes CREATE TABLE by all options.
        assert sent.pop(2).startswith("CREATE TABLE s.b (")
        assert [ddl.rstrip(";") for ddl in sent[1:]] == [*statements[1:2], *statements[3:]]
        epochs = [each.value["source"]["epoch"] for each in changes]
        assert epochs[0] is None
        assert epochs[1:] == sorted(set(epochs[1:]))
    else:
        assert sent[1] == statements[1]
        assert sent[3:] == statements[3:]
    assert changes[1].columns == ("k", "note", "v")
    assert changes[5].columns == ("k", "u", "v")
    with_note = [time for time, after in story.events("s.a") if after.get("note")]
    assert changes[1].timestamp_ms <= min(with_note)
    assert changes[2].timestamp_ms <= story.events("s.b")[0][0]
