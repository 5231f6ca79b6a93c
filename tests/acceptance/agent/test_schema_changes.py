"""The schema-change topic with real nodes: each DDL statement once by id and before the events that
use it, also if the agent is killed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.acceptance.agent.node_story import KEYSPACE, NodeStory
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

pytestmark = pytest.mark.servers


@dataclass(frozen=True)
class Change:
    """Message of the schema-change topic."""

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


class Story(NodeStory):
    """Topic of schema changes in addition to those of events."""

    def changes(self) -> list[Change]:
        """Changes without repeats, in the order of their first arrival."""
        found = [change(record) for record in self.records(self.prefix)]
        return list({each.id: each for each in reversed(found)}.values())[::-1]

    def events(self, table: str) -> list[tuple[int, dict[str, Any]]]:
        """Record time and `after` of each event."""
        records = self.records(f"{self.prefix}.{table}")
        return [(each.timestamp_ms, orjson.loads(each.value or b"")["after"]) for each in records]

    def wait_for_changes(self, count: int) -> None:
        self.wait_until(lambda: len(self.changes()) >= count, f"{count} schema changes")

    def wait_for_events(self, table: str, count: int) -> None:
        self.wait_until(lambda: len(self.events(table)) >= count, f"{count} events of {table}")

    def kill(self) -> None:
        self.agent.kill()
        self.agent.launch()


PROPERTIES = {"include.schema.changes": "true"}
STATEMENTS = (
    ("CREATE", "a", "CREATE TABLE s.a (k int PRIMARY KEY, v int) WITH cdc = true"),
    ("ALTER", "a", "ALTER TABLE s.a ADD note text"),
    ("CREATE", "b", "CREATE TABLE s.b (k int, c int, PRIMARY KEY (k, c)) WITH cdc = true"),
    ("ALTER", "a", "ALTER TABLE s.a DROP note"),
    ("ALTER", "a", "ALTER TABLE s.a ADD u frozen<point>"),
    ("ALTER", "a", "ALTER TYPE s.point ADD z int"),
    ("DROP", "b", "DROP TABLE s.b"),
)


def test_schema_change_precedes_the_events_that_use_it(
    shared_node: CassandraNode,
    linked_cdc_raw: Path,
    broker: KafkaBroker,
    topic_prefix: str,
    tmp_path: Path,
) -> None:
    story = Story(shared_node, linked_cdc_raw, broker, topic_prefix, tmp_path / "agent", PROPERTIES)
    verify_changes(story)


@pytest.mark.slow
def test_schema_changes_of_6_0_contain_logged_statements(
    broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    """The test starts its own node: only this storage mode logs statements."""
    settings = NodeSettings(commitlog_sync_period_ms=100, storage_compatibility_mode="NONE")
    with CassandraNode(tmp_path / "node", version="6.0-alpha2", settings=settings) as node:
        directory = tmp_path / "agent"
        verify_changes(Story(node, node.cdc_raw, broker, topic_prefix, directory, PROPERTIES))


def verify_changes(story: Story) -> None:
    node = story.node
    node.execute(KEYSPACE)
    node.execute("CREATE TYPE s.point (x int, y int)")
    statements = [cql for _, _, cql in STATEMENTS]
    node.execute(statements[0])
    with story.running():
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

    changes = story.changes()
    found = [(each.type, each.table) for each in changes]
    assert found == [(kind, f'"s"."{table}"') for kind, table, _ in STATEMENTS]
    assert [each.value["source"]["snapshot"] for each in changes] == ["true", *["false"] * 6]
    sent = [each.ddl for each in changes]
    if node.version.startswith("6."):
        # The node adds all options to CREATE TABLE.
        assert sent.pop(2).startswith("CREATE TABLE s.b (")
        assert [ddl.rstrip(";") for ddl in sent[1:]] == [*statements[1:2], *statements[3:]]
        epochs = [each.value["source"]["epoch"] for each in changes]
        assert epochs[0] is None
        assert epochs[1:] == sorted(set(epochs[1:]))
    else:
        assert (sent[1], sent[3:]) == (statements[1], statements[3:])
    assert changes[1].columns == ("k", "note", "v")
    assert changes[5].columns == ("k", "u", "v")
    with_note = [time for time, after in story.events("s.a") if after.get("note")]
    assert changes[1].timestamp_ms <= min(with_note)
    assert changes[2].timestamp_ms <= story.events("s.b")[0][0]
