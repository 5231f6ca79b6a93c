"""A node joins a cluster, leaves it, or is replaced, each with its own agent."""

import json
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.agents.agent_command import agent as command
from tests.support.node.snapshot_agent import Agent
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

ROWS = 200
SETTINGS = NodeSettings(commitlog_sync_period_ms=200, yaml={"auto_bootstrap": True})
FILES = ("data", "commitlog", "cdc_raw", "hints", "saved_caches")
JOINS = {
    "6.0": ("6.0-alpha2", None),
    "5.0": ("5.0.9", None),
    "5.0, off": ("5.0.9", False),
    "4.1": ("4.1.10", None),
    "4.0": ("4.0.19", None),
}
"""Release and `cdc_on_repair_enabled`, which exists since 5.0. None: the default."""


@pytest.fixture
def agents() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start_agent(
    agents: ExitStack, node: CassandraNode, directory: Path, **properties: object
) -> Agent:
    agent = Agent(node, directory, **properties)
    agents.callback(agent.process.end)
    launch(agent.process)
    return agent


def launch(process: AgentProcess) -> None:
    process.launch()
    process.wait_until(lambda: process.ask("/health") is not None, "/health")


def make_table(node: CassandraNode, replicas: int) -> None:
    node.execute(create_keyspace("shop", replicas))
    node.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, v text) WITH cdc = true")


def write(node: CassandraNode, numbers: Iterable[int]) -> None:
    insert = node.session().prepare("INSERT INTO shop.orders (id, v) VALUES (?, 'v')")
    for number in numbers:
        node.session().execute(insert, (number,))


def ids(agents: Iterable[Agent], *, is_snapshot: bool) -> list[int]:
    """Keys of all events of these agents."""
    return [each["key"]["id"] for agent in agents for each in agent.events(is_snapshot=is_snapshot)]


def wait_for_ids(agents: Iterable[Agent], numbers: Iterable[int], *, is_snapshot: bool) -> None:
    wanted = set(numbers)
    wait_until(lambda: wanted <= set(ids(agents, is_snapshot=is_snapshot)), f"{len(wanted)} rows")


def event_ids(agent: Agent, numbers: Collection[int]) -> dict[int, set[str]]:
    """Event ids of the rows, without those of a snapshot."""
    found: dict[int, set[str]] = {}
    for each in agent.events(is_snapshot=False):
        if each["key"]["id"] in numbers:
            found.setdefault(each["key"]["id"], set()).add(each["headers"]["cdc.id"])
    return found


def owned_by(node: CassandraNode, numbers: int) -> set[int]:
    """Keys whose token is in the range of the second of two nodes: from the minimum token to 0."""
    rows = node.execute("SELECT id, token(id) AS place FROM shop.orders")
    return {row.id for row in rows if row.id < numbers and row.place <= 0}


def finish(node: CassandraNode, agent: Agent) -> None:
    """Documented steps before a machine is removed. A node that has left does not complete its last
    segment: the agent's offset reaches the index position."""
    node.stop()

    def has_read_all() -> bool:
        offsets = json.loads(run(agent, "offsets", "show", "--json"))["segments"]
        return all(
            [str(offsets.get(index.name.replace("_cdc.idx", ".log")))]
            == index.read_text().split()[:1]
            for index in node.cdc_raw.glob("*_cdc.idx")
        )

    agent.process.wait_until(has_read_all, "the offset to reach the indexes")
    health = agent.process.ask("/health") or {}
    assert health["components"]["sink"]["unacknowledged_events"] == 0
    assert json.loads(run(agent, "quarantine", "list", "--json")) == []
    agent.process.stop()


@pytest.mark.parametrize("join", JOINS)
def test_node_join_and_leave_lose_nothing(join: str, tmp_path: Path, agents: ExitStack) -> None:
    """The new node's commit log also contains streamed rows of CDC tables, unless
    `cdc_on_repair_enabled` is false."""
    version, logs_streams = JOINS[join]
    yaml = dict(SETTINGS.yaml)
    if logs_streams is not None:
        yaml["cdc_on_repair_enabled"] = logs_streams
    settings = replace(SETTINGS, yaml=yaml)
    cluster = CassandraCluster(tmp_path, node_count=2, version=version, settings=settings)
    first, second = cluster.nodes
    agents.callback(cluster.kill)
    first.start()
    make_table(first, replicas=1)
    write(first, range(ROWS))
    old = start_agent(agents, first, tmp_path / "first", snapshot_mode="initial")
    old.wait_for("shop.orders", "completed")
    wait_for_ids([old], range(ROWS), is_snapshot=True)

    second.start()
    new = start_agent(agents, second, tmp_path / "second", snapshot_mode="never")
    moved = range(ROWS, 2 * ROWS)
    write(first, moved)
    wait_for_ids([old, new], moved, is_snapshot=False)
    streamed = set(ids([new], is_snapshot=False)) & set(range(ROWS))
    if logs_streams is False:
        assert not streamed
    else:
        assert streamed == owned_by(second, ROWS)
        # The streamed rows keep the write times and the ids of the first writes.
        assert event_ids(new, streamed) == event_ids(old, streamed)
    owned = {each for each in moved if each in set(ids([new], is_snapshot=False))}
    assert 0 < len(owned) < ROWS
    assert not ids([new], is_snapshot=True)

    leaving = range(2 * ROWS, 3 * ROWS)
    write(first, leaving)
    # System keyspaces require three replicas; with two nodes, leaving needs force.
    nodetool(second, "decommission", "--force")
    write(first, range(3 * ROWS, 4 * ROWS))
    finish(second, new)
    wait_for_ids([old, new], range(ROWS, 4 * ROWS), is_snapshot=False)
    assert {row.id for row in first.execute("SELECT id FROM shop.orders")} == set(range(4 * ROWS))


@pytest.mark.parametrize("version", ["5.0.9", "6.0-alpha2"])
@pytest.mark.parametrize("address", ["same", "other"])
def test_agent_follows_a_replaced_node(
    address: str, version: str, tmp_path: Path, agents: ExitStack
) -> None:
    """The node's disk is lost, the agent's is not. With the old address the new node keeps the old
    host id. On 6.0 the id returns after the next start. With another address the node gets a new
    one."""
    cluster = CassandraCluster(tmp_path, node_count=3, version=version, settings=SETTINGS)
    first, second, spare = cluster.nodes
    agents.callback(cluster.kill)
    first.start()
    second.start()
    make_table(first, replicas=2)
    survivor = start_agent(agents, first, tmp_path / "first", snapshot_mode="never")
    lost = start_agent(agents, second, tmp_path / "second", snapshot_mode="never")
    write(first, range(ROWS))
    wait_for_ids([survivor], range(ROWS), is_snapshot=False)
    wait_for_ids([lost], range(ROWS), is_snapshot=False)
    lost.process.stop()
    second.kill()
    write(first, range(ROWS, 2 * ROWS))
    option = f"-Dcassandra.replace_address_first_boot={second.address.host}"
    overrides: list[str] = []
    if address == "same":
        for name in FILES:
            shutil.rmtree(second.directory / name, ignore_errors=True)
        new = second
    else:
        new = spare
        overrides.append(f"cassandra.config={new.yaml}")
        overrides.append(f"cdc.raw.directory={new.cdc_raw}")
    new.start(replace(second.settings, jvm_options=(option,)))

    lost.process.launch(*overrides)
    if address == "same":
        lost.process.wait_until(lambda: "segment_lost" in lost.conditions(), "the lost segment")
        if version == "6.0-alpha2":
            lost.process.wait_until(
                lambda: "schema_not_refreshed" in lost.conditions(), "no host id"
            )
            new.stop()
            new.start(replace(new.settings, jvm_options=()))
        (record,) = (lost.directory / "relocation" / "error").glob("*.reason.json")
        segment = record.name.removesuffix(".reason.json")
        done = run(lost, "snapshot", "start", "shop.orders")
        assert done == "Started the snapshot of shop.orders.\n"
        lost.wait_for("shop.orders", "completed")
        run(lost, "quarantine", "discard", segment, "--yes")
        lost.process.wait_until(lambda: not lost.conditions(), "/health to be ok")
    else:
        wait_until(lambda: not lost.process.is_running, "the agent to end")
        assert lost.process.exit_status == 2
        assert "agent offsets reset --snapshots" in lost.process.log_tail()
        run(lost, "offsets", "reset", "--snapshots")
        lost.process.launch(*overrides)
    write(first, range(2 * ROWS, 3 * ROWS))
    wait_for_ids([lost], range(2 * ROWS, 3 * ROWS), is_snapshot=False)
    wait_for_ids([survivor], range(3 * ROWS), is_snapshot=False)
    lost.process.stop()
    survivor.process.stop()


def run(agent: Agent, *words: str) -> str:
    """Output of a command that succeeds."""
    done = command(*words, "--config", agent.process.configuration)
    assert done.exit_code == 0, done.errors
    return done.output
