"""The node's CQL connection for snapshots: pages of raw rows, tables, ring and replication.

The encoder decodes the values. cassandra-driver is untyped; this module returns typed values.
"""

import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from cassandra import ConsistencyLevel, InvalidRequest, ReadFailure, ReadTimeout, Unavailable
from cassandra.cluster import Session
from cassandra.protocol import SyntaxException
from cassandra.query import SimpleStatement

from agent.config.loader import AgentConfig
from agent.node.connection import NodeAddress, NodeConnection, node_address
from agent.snapshot.errors import (
    RejectedTableError,
    ReplicasDownError,
    ReplicasMissingError,
    read_failure,
)
from agent.snapshot.plan import NodeTable
from agent.snapshot.ring import PARTITIONER, Ring, RingNode
from commitlog import EventFormat
from commitlog.masking import MaskGuard
from commitlog.raw_pages import RawPages, page_body, page_profile
from sidecar.errors import ConfigError, UnavailableError

_PAGES = "pages"
_PROBE_TIMEOUT_S = 1.0
_FIRST_WITH_PEERS_V2 = 4
_NODE_LOCAL = 11
_CONSISTENCY = {**ConsistencyLevel.name_to_value, "NODE_LOCAL": _NODE_LOCAL}
"""Levels of the protocol. The driver does not define Cassandra's NODE_LOCAL, which is meant for
debugging (`org.apache.cassandra.db.ConsistencyLevel`)."""
_REFUSALS = (
    "consistency level is highly dangerous",
    f"Unknown code {_NODE_LOCAL} for a consistency",
)
"""The node's answers to NODE_LOCAL if the option is not set, and before 4.0."""


@dataclass(frozen=True, slots=True)
class Page:
    """Encoded rows, and the state with which to request the next page; None on the last page."""

    body: bytes
    next_page: bytes | None
    read_at_us: int
    """Wall-clock time of the request."""


@dataclass(frozen=True, slots=True)
class PendingPage:
    connection: "PageConnection"
    future: Any
    read_at_us: int

    def result(self) -> Page:
        """Waits for the page. Raises the errors of `PageConnection`."""
        try:
            answer = self.future.result()
            return Page(page_body(answer), answer.paging_state, self.read_at_us)
        except Exception as error:
            raise self.connection.page_error(error) from error


class PageConnection(NodeConnection):
    """Reads pages from the node. Not thread-safe. Raises the errors of `NodeConnection`, and
    `RejectedTableError` if the node rejects a statement."""

    def __init__(
        self,
        address: NodeAddress,
        is_included: Callable[[str, str], bool],
        reread: Callable[[], NodeAddress] | None = None,
    ) -> None:
        """`is_included` returns whether the configuration publishes a keyspace and table.
        `NodeConnection` describes `reread`."""
        super().__init__(address, reread)
        self._is_included = is_included
        self._raw: Session | None = None
        self.masks = MaskGuard(self.rows, address.username)

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> PendingPage:
        """Requests a page of at most `rows` rows, without waiting for it."""
        session = self._raw_session()
        statement = SimpleStatement(
            cql,
            fetch_size=rows,
            consistency_level=_CONSISTENCY[consistency],
            is_idempotent=True,
        )
        read_at_us = time.time_ns() // 1000
        try:
            future = session.execute_async(
                statement, execution_profile=_PAGES, paging_state=next_page
            )
        except Exception as error:
            raise self.page_error(error) from error
        return PendingPage(self, future, read_at_us)

    def ring(self) -> Ring:
        """Reads the ring. Raises ConfigError unless the partitioner is Murmur3Partitioner."""
        (here,) = self.rows(
            "SELECT host_id, data_center, rack, tokens, partitioner, release_version "
            "FROM system.local"
        )
        if here["partitioner"] != PARTITIONER:
            raise ConfigError(
                f"The cluster uses {here['partitioner']}; snapshots support only "
                "Murmur3Partitioner, so `snapshot.mode=never` is required."
            )
        peers = self.rows("SELECT host_id, data_center, rack, tokens FROM system.peers")
        nodes = tuple(
            RingNode(
                str(row["host_id"]),
                str(row["data_center"]),
                tuple(map(int, row["tokens"] or ())),
                str(row["rack"]),
            )
            for row in (here, *peers)
        )
        release = tuple(int(part) for part in str(here["release_version"]).split("-")[0].split("."))
        return Ring(str(here["host_id"]), nodes, release)

    def tables(self) -> list[NodeTable]:
        """Lists the tables of the node, without views."""
        rows = self.rows(
            "SELECT keyspace_name, table_name, id, flags, cdc FROM system_schema.tables"
        )
        return [
            NodeTable(
                str(row["id"]),
                str(row["keyspace_name"]),
                str(row["table_name"]),
                row["cdc"] is True
                and self._is_included(str(row["keyspace_name"]), str(row["table_name"])),
                "counter" in (row["flags"] or ()),
            )
            for row in rows
        ]

    def replication(self, keyspace: str) -> Mapping[str, str]:
        """Reads the replication of a keyspace. Raises UnavailableError if it was dropped."""
        for row in self.rows("SELECT keyspace_name, replication FROM system_schema.keyspaces"):
            if row["keyspace_name"] == keyspace:
                return {str(name): str(value) for name, value in row["replication"].items()}
        raise UnavailableError(f"the keyspace {keyspace} does not exist.")

    def unreachable_peers(self) -> list[str]:
        """Lists addresses of other nodes that accept no CQL connection."""
        try:
            addresses = self._peer_addresses()
        except UnavailableError:
            return []
        if not addresses:
            return []
        with ThreadPoolExecutor(min(8, len(addresses)), "probe") as probes:
            answers = list(probes.map(_listens, addresses))
        return [host for (host, _), listens in zip(addresses, answers, strict=True) if not listens]

    def close(self) -> None:
        super().close()
        self._raw = None

    def page_error(self, error: Exception) -> Exception:
        if isinstance(error, (UnavailableError, ConfigError, RejectedTableError)):
            return error
        if any(text in str(error) for text in _REFUSALS):
            return ConfigError(
                f"Cassandra at {self.address} does not allow snapshot.consistency=NODE_LOCAL. "
                "Start it with -Dcassandra.enable_nodelocal_queries=true (Cassandra 4.0 or newer), "
                "or set a different level, such as LOCAL_ONE."
            )
        if isinstance(error, (InvalidRequest, SyntaxException)):
            return RejectedTableError(str(error))
        if isinstance(error, Unavailable):
            alive = f"{error.alive_replicas} of {error.required_replicas} replicas are up"
            return ReplicasDownError(alive)
        if isinstance(error, ReadFailure):
            return read_failure(error)
        if isinstance(error, ReadTimeout):
            answered = f"{error.received_responses} of {error.required_responses} replicas answered"
            return ReplicasMissingError(answered)
        self.close()
        return self.explain(error)

    def _peer_addresses(self) -> list[tuple[str, int]]:
        (here,) = self.rows("SELECT release_version FROM system.local")
        if int(str(here["release_version"]).split(".")[0]) >= _FIRST_WITH_PEERS_V2:
            rows = self.rows("SELECT native_address, native_port FROM system.peers_v2")
            return [
                (str(row["native_address"]), int(row["native_port"] or self.address.port))
                for row in rows
            ]
        rows = self.rows("SELECT rpc_address FROM system.peers")
        return [(str(row["rpc_address"]), self.address.port) for row in rows]

    def _raw_session(self) -> Session:
        if self._raw is None or self._raw.is_shutdown:
            self.rows("SELECT key FROM system.local")
            assert self._session is not None
            cluster = self._session.cluster
            policy = cluster.profile_manager.default.load_balancing_policy
            cluster.add_execution_profile(_PAGES, page_profile(policy))
            self._raw = cluster.connect()
            self._raw.client_protocol_handler = RawPages
        return self._raw


def page_connection(config: AgentConfig, event_format: EventFormat) -> PageConnection:
    """Creates an unopened connection to the configured node. Raises ConfigError."""
    return PageConnection(node_address(config), event_format.admits, partial(node_address, config))


def _listens(address: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(address, _PROBE_TIMEOUT_S):
            return True
    except OSError:
        return False
