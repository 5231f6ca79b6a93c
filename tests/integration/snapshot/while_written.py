"""A table that is published, copied and written to at once, by an agent that is killed."""

import secrets
import threading
from dataclasses import dataclass

from tests.integration.snapshot.writes import COLUMNS, Writer
from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.comparison import Selected, differences, select_all
from tests.support.node.snapshot_agent import Agent, keys
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import release

WRITES = 3000
# So few that the agent is killed while it copies.
_ROWS_PER_SECOND = 60
_LAST = "last"


@dataclass(frozen=True, slots=True)
class Merged:
    """What arrived, merged in random order, beside what the node selects."""

    events: int
    copied: int
    copied_before_kill: int
    copied_keys: int
    rows: int
    differences: list[str]


def copy_while_writes_go_on(
    node: CassandraNode, agent: Agent, table: str, seed: int, writes: int = WRITES
) -> Merged:
    """The agent copies tables that are published later; it is not started yet.

    Before 4.0 a node gives its log away when it has flushed its tables, so it is stopped for the
    rest of it.
    """
    keyspace, name = table.split(".")
    node.execute(f"CREATE TABLE {table} ({COLUMNS})")
    writer = Writer(table, seed)
    for statement in writer.statements(writes, "before"):
        node.execute(statement)
    agent.process.launch(f"snapshot.rows.per.second={_ROWS_PER_SECOND}")
    agent.process.wait_until(lambda: agent.process.ask("/snapshot") is not None, "the agent")
    node.execute(f"ALTER TABLE {table} WITH cdc = true")

    def write() -> None:
        for statement in writer.statements(writes, "meanwhile"):
            session.execute(statement)

    session = node.connect()
    writing = threading.Thread(target=write)
    writing.start()
    agent.process.wait_until(
        lambda: 20 < agent.copy_of(table).get("percent", 0) < 90, "a part of it"
    )
    agent.process.kill()
    before = len(agent.events(is_snapshot=True))
    agent.process.launch("snapshot.rows.per.second=0")
    agent.wait_for(table, "completed")
    writing.join()
    copied = agent.events(is_snapshot=True)

    node.execute(f"CREATE TABLE {keyspace}.{_LAST} (id int PRIMARY KEY) WITH cdc = true")
    node.execute(f"INSERT INTO {keyspace}.{_LAST} (id) VALUES (1)")
    (found,) = node.execute(
        "SELECT id FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s",
        (keyspace, name),
    )
    selected: Selected | None = None
    if release(node.version) < (4, 0):
        selected = select_all(node.session(), keyspace, name)
        node.stop()
    agent.process.wait_until(
        lambda: bool(keys(agent.events(is_snapshot=False), f"{keyspace}.{_LAST}")), "the end"
    )
    events = agent.events()
    secrets.SystemRandom().shuffle(events)
    tables = Tables()
    for event in events:
        tables.apply(event["value"])
    if selected is None:
        selected = select_all(node.session(), keyspace, name)
    return Merged(
        len(events),
        len(copied),
        before,
        len(set(keys(copied, table))),
        len(selected.rows),
        differences(tables.of(found.id), selected),
    )
