"""100 tables with three partitions each on a real broker: resource usage does not grow."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.faults.node_harness import SETTINGS, NodeHarness, keyspace
from tests.acceptance.faults.node_judge import Arrived, arrival_of
from tests.acceptance.faults.situation import Sampling, situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

pytestmark = pytest.mark.servers

_TABLES = 100
_PARTITIONS = 3
_ROWS = 100
"""Rows of each table in each round."""
_ROUNDS = 9
_VALUE = "x" * 300
_MIB = 1 << 20


class PublishingNodeHarness(NodeHarness):
    """The agent publishes to a broker instead of a file."""

    def __init__(self, node: CassandraNode, broker: KafkaBroker, directory: Path) -> None:
        settings = {
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "topic.creation.default.partitions": _PARTITIONS,
            "topic.creation.default.replication.factor": 1,
        }
        super().__init__(node, directory, settings)
        self.records: list[KafkaRecord] = []

    def arrived(self) -> list[Arrived]:
        return [_arrived(record) for record in self.records]


def _arrived(record: KafkaRecord) -> Arrived:
    headers = dict(record.headers)
    assert record.value is not None
    return arrival_of(
        record.topic,
        json.loads(record.value),
        kind=headers["cdc.kind"].decode(),
        event_id=headers["cdc.id"].hex(),
        source=headers["cdc.source"].decode(),
    )


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[CassandraNode, KafkaBroker]]:
    with ExitStack() as stack:
        node = stack.enter_context(CassandraNode(tmp_path / "node", settings=SETTINGS))
        yield node, stack.enter_context(KafkaBroker(tmp_path / "kafka"))


def write_round(harness: NodeHarness, number: int) -> None:
    """Write the same number of new rows to each table, table by table."""
    rows = [(number * _ROWS + row, f"{row} {_VALUE}") for row in range(_ROWS)]
    for table in range(_TABLES):
        harness.insert(f"shop.t{table:03}", rows, "id, v")


@situation("100 tables, each with a topic of three partitions, are written to without a pause")
def test_hundred_tables_take_bounded_resources(
    servers: tuple[CassandraNode, KafkaBroker], tmp_path: Path, report: Report
) -> None:
    node, broker = servers
    harness = PublishingNodeHarness(node, broker, tmp_path / "rig")
    try:
        keyspace(harness, "shop")
        tables = [
            f"CREATE TABLE shop.t{table:03} (id int PRIMARY KEY, v text) WITH cdc = true"
            for table in range(_TABLES)
        ]
        harness.change(*tables)
        harness.start_agent()
        # The first round creates the topics.
        write_round(harness, 0)
        harness.drain()
        assert harness.agent.pid is not None
        with Sampling(harness.agent.pid, harness.quarantine) as samples:
            for number in range(1, _ROUNDS + 1):
                write_round(harness, number)
            harness.drain()
        harness.wait_for_status("ok")
        growth = samples.growth
        print(f"\n100 tables: peak {samples.peak}, {growth}")
        growth.require_flat(resident_bytes=32 * _MIB)
        assert harness.recorded() == {}
        topics = {f"faults.shop.t{table:03}": _PARTITIONS for table in range(_TABLES)}
        assert broker.topics() == topics
        harness.records = broker.consume_all()
        used = {(record.topic, record.partition) for record in harness.records}
        assert len(used) == _TABLES * _PARTITIONS
        outcome = harness.outcome()
        assert outcome.expected == _TABLES * _ROWS * (_ROUNDS + 1)
        report(replace(outcome, growth=growth))
    finally:
        harness.agent.end()
