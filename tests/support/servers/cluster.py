"""Several Cassandra nodes of one cluster on 127.0.0.x."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from tests.support.servers.cassandra import VERSION, CassandraNode
from tests.support.servers.cassandra_settings import NodeAddress, NodeSettings
from tests.support.servers.processes import free_port

_RING_TOKENS = 1 << 64
_FIRST_TOKEN = -(1 << 63)


class CassandraCluster:
    """`with CassandraCluster(tmp_path) as cluster:` starts three nodes one after the other.

    Tokens are evenly spread; with replication factor `node_count` every node holds every row.
    """

    def __init__(
        self,
        directory: Path,
        *,
        node_count: int = 3,
        version: str = VERSION,
        settings: NodeSettings | None = None,
        hosts: Sequence[str] | None = None,
    ) -> None:
        addresses = list(hosts or (f"127.0.0.{11 + index}" for index in range(node_count)))
        base = settings or NodeSettings()
        storage_port = free_port(*addresses)
        cql_port = free_port(*addresses)
        ssl_storage_port = free_port(*addresses)
        self.nodes = [
            CassandraNode(
                directory / f"node-{index + 1}",
                version=version,
                settings=replace(
                    base,
                    seeds=[addresses[0]],
                    initial_token=_FIRST_TOKEN + index * (_RING_TOKENS // len(addresses)),
                ),
                address=NodeAddress(
                    host, cql_port, storage_port, ssl_storage_port, free_port("127.0.0.1")
                ),
            )
            for index, host in enumerate(addresses)
        ]

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def stop(self) -> None:
        """Stop every running node cleanly, the seed last."""
        for node in reversed(self.nodes):
            if node.is_running:
                node.stop()

    def kill(self) -> None:
        """SIGKILL every running node."""
        for node in self.nodes:
            if node.is_running:
                node.kill()
