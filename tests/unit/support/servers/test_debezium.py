"""The peer runs beside a node and sends what the node is told."""

import json
import socket
from pathlib import Path

import pytest

from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import DebeziumPeer
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers


def test_sends_rows(tmp_path: Path) -> None:
    settings = NodeSettings(commitlog_sync_period_ms=200)
    with (
        CassandraNode(tmp_path / "node", settings=settings) as node,
        KafkaBroker(tmp_path / "kafka") as broker,
    ):
        node.execute(
            "CREATE KEYSPACE k WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        node.execute("CREATE TABLE k.t (p int PRIMARY KEY, v text) WITH cdc = true")
        broker.create_topic("cass.k.t")
        with DebeziumPeer(node, broker, tmp_path / "peer") as peer:
            for p in range(20):
                node.execute("INSERT INTO k.t (p, v) VALUES (%s, %s)", (p, f"v{p}"))

            def keys() -> set[int]:
                records = broker.consume_all("cass.k.t")
                return {json.loads(record.key or b"{}")["p"] for record in records}

            wait_until(lambda: keys() == set(range(20)), "all rows to be sent")
            assert peer.is_running
            assert _is_on_loopback_alone(peer.http_port)


def _is_on_loopback_alone(port: int) -> bool:
    """Whether the port is still free on another loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.77", port))
    return True
