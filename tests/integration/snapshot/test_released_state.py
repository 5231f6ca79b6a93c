"""A snapshot started by a released version is completed without repeating copied rows."""

from pathlib import Path

import pytest

from agent.config.loader import SNAPSHOT_FILE
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.released_state import ReleasedState, released_versions
from tests.support.node.snapshot_agent import Agent
from tests.support.record.state.cassandra import KEYSPACE, ROWS, TABLE
from tests.support.servers.cassandra import CassandraNode

pytestmark = pytest.mark.servers

TOKENS = "SELECT id, token(id) AS place FROM shop.orders"


def test_snapshot_of_a_release_is_completed(
    shared_node: CassandraNode, linked_cdc_raw: Path, tmp_path: Path
) -> None:
    """The node replaces the recorded one: same table id and token, another host id."""
    node = shared_node
    for statement in (KEYSPACE, TABLE):
        node.execute(statement)
    insert = node.session().prepare("INSERT INTO shop.orders (id, line, note) VALUES (?, 1, ?)")
    for number in range(ROWS):
        node.session().execute(insert, (number, f"order {number}"))
    tokens = {row.id: row.place for row in node.execute(TOKENS)}
    host_id = str(node.execute("SELECT host_id FROM system.local")[0].host_id)
    for version in released_versions():
        state = ReleasedState.of(version, "cassandra")
        agent = Agent(
            node,
            tmp_path / version,
            cdc_raw_directory=linked_cdc_raw,
            snapshot_mode="initial",
            topic_prefix="shop",
        )
        state.restore("offsets", agent.directory / "offsets")
        for path in (agent.directory / "offsets").iterdir():
            if not path.name.startswith(SNAPSHOT_FILE):
                path.unlink()
        store = PropertiesStore(agent.directory / "offsets", SNAPSHOT_FILE)
        values = store.load().values
        # The recorded snapshot had reached few rows.
        (place,) = (name for name in values if ".range." in name)
        reached = sorted(tokens.values())[ROWS // 3]
        store.save({**values, "node.id": host_id, place: str(reached)})
        agent.process.launch()
        try:
            agent.wait_for("shop.orders", "completed")
            agent.process.stop()
        finally:
            agent.process.end()
        copied = {each["key"]["id"] for each in agent.events(is_snapshot=True)}
        assert copied == {number for number, token in tokens.items() if token > reached}
        assert 0 < len(copied) < ROWS
