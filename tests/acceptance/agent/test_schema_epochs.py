"""Schema changes in quick succession on Cassandra 6.0, each followed by a write, with a restart in
between: each event has the definition of its epoch, whatever the source of the schema."""

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained
from tests.support.record.plan import FIXTURES
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import epochs

EXPECTED = [dict(step.row) for step in (*epochs.FIRST_RUN, *epochs.SECOND_RUN)]
# Statements while the agent reads the node's own directory.
LATER = (
    epochs.Step(
        "ALTER TABLE t RENAME spot TO here",
        "INSERT INTO t (p, here, v) VALUES (21, 1, 0x32)",
        {"p": 21, "here": 1, "v": "Mg=="},
    ),
    epochs.Step(
        "ALTER TYPE place ADD zip int",
        "INSERT INTO t (p, here, home) VALUES (22, 1, {street: 'b', town: 'c', zip: 3})",
        {"p": 22, "here": 1, "home": {"street": "b", "town": "c", "zip": 3}},
    ),
)


def put_recorded(agent_dir: AgentDir) -> None:
    """Put the recorded segments of both runs into `cdc_raw`."""
    for packed in (FIXTURES / "6.0" / "epochs").glob("CommitLog-*.log.gz"):
        log = agent_dir.cdc_raw / packed.stem
        log.write_bytes(gzip.decompress(packed.read_bytes()))
        log.with_name(f"{log.stem}_cdc.idx").write_text(f"{log.stat().st_size}\nCOMPLETED\n")


def rows(agent_dir: AgentDir) -> list[dict[str, Any]]:
    if not agent_dir.events.exists():
        return []
    found = []
    for line in agent_dir.events.read_bytes().splitlines():
        after = json.loads(line)["value"]["after"]
        found.append({name: cell["value"] for name, cell in after.items() if cell})
    return found


def delivered(
    agent_dir: AgentDir, changes: Mapping[str, str | None] | None = None
) -> list[dict[str, Any]]:
    with running(agent_dir, changes) as process:
        process.wait_until("delivery", lambda: is_drained(agent_dir))
    return rows(agent_dir)


def test_epochs_are_decoded_from_log_and_stored_schema(agent_dir: AgentDir) -> None:
    """The schema file contains only another table. The segments return after a restart of the
    agent, as from the quarantine."""
    put_recorded(agent_dir)
    assert delivered(agent_dir) == EXPECTED
    for path in agent_dir.offsets.iterdir():
        if path.name != "schema_history.json.gz":
            path.unlink()
    agent_dir.events.unlink()
    put_recorded(agent_dir)
    assert delivered(agent_dir) == EXPECTED


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    """Separate node with completed segments of both runs, because the tests restart it."""
    settings = NodeSettings(storage_compatibility_mode="NONE", commitlog_sync_period_ms=100)
    directory = tmp_path_factory.mktemp("epochs") / "node"
    with CassandraNode(directory, version="6.0-alpha2", settings=settings) as node:
        for statement in epochs.BEFORE:
            node.execute(statement)
        run(node, epochs.FIRST_RUN)
        node.restart()
        run(node, epochs.SECOND_RUN)
        node.close_segment()
        yield node


def run(node: CassandraNode, steps: tuple[epochs.Step, ...]) -> None:
    node.execute(f"USE {epochs.KEYSPACE}")
    for step in steps:
        node.execute(step.ddl)
        node.execute(step.write)


@pytest.mark.slow
@pytest.mark.servers
def test_node_schema_decodes_earlier_epochs(node: CassandraNode, agent_dir: AgentDir) -> None:
    """Reads completed segments, then follows the node while its schema changes further."""
    changes = {
        "schema.file": None,
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
    }
    agent_dir.copy_segments(node)
    assert delivered(agent_dir, changes) == EXPECTED
    for path in (*agent_dir.offsets.iterdir(), agent_dir.events):
        path.unlink()
    expected = [*EXPECTED, *(dict(step.row) for step in LATER)]
    beside = {**changes, "cdc.raw.directory": str(node.cdc_raw)}
    with running(agent_dir, beside) as process:
        run(node, LATER)
        node.close_segment()
        process.wait_until("events", lambda: len(rows(agent_dir)) >= len(expected))
    assert rows(agent_dir) == expected
