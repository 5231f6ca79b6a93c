"""`python -m tests.integration.snapshot.releases [VERSION…]`: copies of nodes of each release.

Beside each node a real agent copies a table for every CQL type as key and as value; the test
compares its events with `SELECT *`. The agent then copies a table that is published and written to
at once, and is killed during the copy. The test merges its events with the log and compares
them.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.integration.snapshot.while_written import TYPES, copy_while_writes_go_on
from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.comparison import compare, summary
from tests.support.node.snapshot_agent import Agent
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import VERSIONS, NodeSettings, release
from tests.support.workloads import scenario
from tests.support.workloads.scenario import create_keyspace

KEYSPACE = "types"
_OLDEST_US = -(1 << 63) + 1
_SETTINGS = NodeSettings(commitlog_sync_period_ms=200, heap_mib=640)


def main(versions: Iterable[str]) -> None:
    seed = draw_seed()
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="snapshot-releases-") as folder:
            _every_type(version, Path(folder) / "types", seed)
            _while_written(version, Path(folder) / "written", seed)


def _every_type(version: str, folder: Path, seed: int) -> None:
    with CassandraNode(folder / "node", version=version, settings=_SETTINGS) as node:
        workload = scenario(KEYSPACE, release(version), seed)
        for statement in (*workload.schema, *workload.statements):
            node.execute(statement)
        agent = Agent(node, folder / "agent")
        try:
            agent.process.launch()
            agent.process.wait_until(lambda: _is_complete(agent), "every table")
            events = agent.events(is_snapshot=True)
            tables = Tables()
            for event in events:
                tables.apply(event["value"])
            compared = compare(node.session(), tables, [KEYSPACE])
        finally:
            agent.process.end()
    print(
        f"{version}: {compared.tables} tables, {compared.rows} rows by SELECT *, {len(events)} "
        f"events of the copy; cells: {_cells(events)}"
    )
    assert compared.rows > 0
    assert not compared.differences, summary(compared.differences)


def _is_complete(agent: Agent) -> bool:
    tables = (agent.process.ask("/snapshot") or {"tables": []})["tables"]
    return bool(tables) and all(each["state"] == "completed" for each in tables)


def _cells(events: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Number of simple cells and elements, and of those with a write time from the node. Elements
    of a list follow a deletion, at a computed time if the node reports none."""
    counts: Counter[str] = Counter()
    for event in events:
        cells = event["value"]["cells"]
        lists = {deletion["col"] for deletion in cells.get("cdel", ())}
        for cell in cells.get("cell", ()):
            time = "without" if cell["ts"] == _OLDEST_US else "with"
            kind = f"element {time} write time" if "path" in cell else f"simple {time} write time"
            counts["element of a list" if cell["col"] in lists else kind] += 1
    return dict(sorted(counts.items()))


def _while_written(version: str, folder: Path, seed: int) -> None:
    with CassandraNode(folder / "node", version=version, settings=_SETTINGS) as node:
        node.execute(create_keyspace("shop"))
        node.execute(TYPES.format(keyspace="shop"))
        agent = Agent(node, folder / "agent", snapshot_mode="always")
        try:
            merged = copy_while_writes_go_on(node, agent, "shop.orders", seed)
        finally:
            agent.process.end()
    print(
        f"{version}: {merged.events} events, {merged.copied} of them copied ({merged.copied_keys} "
        f"keys, {merged.copied_before_kill} events before the kill), {merged.rows} rows by SELECT *"
    )
    assert merged.differences == []


if __name__ == "__main__":
    main(sys.argv[1:] or VERSIONS)
