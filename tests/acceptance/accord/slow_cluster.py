"""Three nodes with agents: the merged transactions equal `SELECT *`, per node and for all nodes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, NoHostAvailable

from tests.acceptance.accord.node_agent import (
    VERSION,
    accord_settings,
    agent_of,
    execute,
    ids,
    wait_for_row,
)
from tests.acceptance.accord.workload import ADDED_COLUMN, last_write, schema, statements
from tests.oracle.algebra.tables import Tables
from tests.oracle.merge.comparison import Comparison, compare, summary
from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.processes import wait_until

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

STATEMENTS = 300


def write(node: CassandraNode, texts: Iterable[str]) -> None:
    """Write at QUORUM, because Accord rejects lower levels. Statements that time out are not
    repeated: the comparison uses the node's data."""
    for text in texts:
        try:
            execute(node, text)
        except (DriverException, NoHostAvailable) as error:
            print(f"{text}: {error}")


def merged(events: Iterable[dict[str, Any]]) -> Tables:
    tables = Tables()
    for event in events:
        tables.apply(event["value"])
    return tables


def differences(node: CassandraNode, events: Sequence[dict[str, Any]]) -> Sequence[str]:
    """Differences between the merged events and the rows that the node selects."""
    session = node.connect()
    profile = session.get_execution_profile(EXEC_PROFILE_DEFAULT)
    profile.consistency_level = ConsistencyLevel.QUORUM
    found: list[Comparison] = []

    def has_answered() -> bool:
        # Reads of 6.0-alpha2 can time out after the restart of a replica.
        with suppress(DriverException):
            found.append(compare(session, merged(events), ["bank"]))
        return bool(found)

    wait_until(has_answered, "the node's answer")
    session.cluster.shutdown()
    (comparison,) = found
    assert comparison.tables == 3
    assert comparison.rows > 0
    return comparison.differences


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CassandraNode]]:
    folder = tmp_path_factory.mktemp("cluster")
    settings = accord_settings()
    with CassandraCluster(folder, version=VERSION, settings=settings) as cluster:
        for statement in schema(replicas=3):
            cluster.nodes[0].execute(statement)
        yield cluster.nodes


@pytest.fixture
def agents(nodes: list[CassandraNode], tmp_path: Path) -> Iterator[list[Agent]]:
    with ExitStack() as stack:
        found = [agent_of(node, tmp_path / f"agent-{n}") for n, node in enumerate(nodes)]
        for agent in found:
            stack.callback(agent.process.end)
            agent.process.launch()
        yield found


def test_merged_transactions_equal_select(nodes: list[CassandraNode], agents: list[Agent]) -> None:
    first, _, killed = nodes
    write(first, statements(1, STATEMENTS))
    first.execute(ADDED_COLUMN)
    area = (f"UPDATE bank.accounts SET area = 'a{n}' WHERE id = {n}" for n in range(5))
    write(nodes[1], area)

    # The test kills a node's agent and restarts it while the node continues.
    agents[1].process.kill()
    write(first, statements(2, STATEMENTS))
    agents[1].process.launch()

    # The test kills a node; the others continue.
    killed.kill()
    write(first, statements(3, STATEMENTS))
    killed.start()
    write(nodes[1], statements(4, STATEMENTS))

    write(first, [last_write(1000)])
    for agent in agents[:2]:
        wait_for_row(agent, 1000)

    # A replica applies transactions of other partitions after the last acknowledgement.
    def are_equal() -> bool:
        return ids(agents[0].events()) == ids(agents[1].events())

    wait_until(are_equal, "the events of two replicas to be equal")
    events = [agent.events() for agent in agents]
    for replica in (events[0], events[1], [event for each in events for event in each]):
        found = differences(first, replica)
        assert not found, summary(found)
    assert ids(events[2]) <= ids(events[0])
    assert len(ids(events[0])) > STATEMENTS
    print(f"{len(ids(events[0]))} event ids equal, merged events equal SELECT *")
    for agent in agents:
        lost = {"segment_lost", "segment_quarantined", "segment_blocked"}
        assert not lost & agent.conditions()
