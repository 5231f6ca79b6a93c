"""Reads the schema from a running node: the rows of `system_schema` over CQL.

In Cassandra 6.0 and later, the latest entries of `system.local_metadata_log` show since when each
table definition applies.
"""

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import orjson

from agent.node.connection import NodeConnection, NodeFacts
from agent.node.host_ids import METADATA_LOG, known_node
from agent.schema.source import KnownSchema, NodeIdentity
from agent.schema.write_options import NodeWriteOptions
from commitlog import Schema, SchemaError
from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.logs import fields

logger = logging.getLogger(__name__)

# The partitioner of this table returns the newest entries first.
_QUERY = f"SELECT epoch, kind, transformation FROM {METADATA_LOG} LIMIT 200"
_SCHEMA_CHANGE = 4


def epoch_of(schema_version: str) -> int | None:
    """Returns the epoch of the latest schema change, which 6.0 and later use as schema version
    (`DistributedSchema`). None for schema versions of earlier releases, and during an upgrade."""
    epoch = UUID(schema_version).int
    return epoch if 0 < epoch < 1 << 63 else None


class MetadataLog:
    """Reads the metadata log of one node, unless the node denies access."""

    def __init__(self, connection: NodeConnection) -> None:
        self._connection = connection
        self._is_denied = False

    def upto(self, epoch: int) -> list[dict[str, Any]] | None:
        """Returns the latest entries. Returns None if they are not readable, or if they contain a
        schema change after `epoch`, which `system_schema` may already include. Raises
        `UnavailableError`."""
        try:
            rows = self._connection.rows(_QUERY)
        except AccessDeniedError as error:
            if not self._is_denied:
                logger.info(
                    "the agent takes the epochs of schema changes from the commit log only, "
                    f"because it may not read the metadata log; GRANT SELECT ON {METADATA_LOG} "
                    "allows it",
                    extra=fields(reason=str(error)),
                )
            self._is_denied = True
            return None
        self._is_denied = False
        if any(row["kind"] == _SCHEMA_CHANGE and row["epoch"] > epoch for row in rows):
            return None
        # Other entries contain no statement, and some contain a copy of all metadata.
        texts = (row["transformation"] if row["kind"] == _SCHEMA_CHANGE else b"" for row in rows)
        return [
            {"epoch": row["epoch"], "kind": row["kind"], "transformation": (text or b"").hex()}
            for row, text in zip(rows, texts, strict=True)
        ]


# Source: Cassandra's SchemaKeyspace. Drop times are read as numbers, because drop times of system
# columns exceed Python's maximum year.
_QUERIES: Mapping[str, str] = {
    "tables": "keyspace_name, table_name, id, flags, cdc, writetime(id) AS changed_us "
    "FROM system_schema.tables",
    "columns": "keyspace_name, table_name, column_name, kind, position, type, clustering_order, "
    "writetime(kind) AS created_us FROM system_schema.columns",
    "dropped_columns": "keyspace_name, table_name, column_name, kind, type, "
    "toUnixTimestamp(dropped_time) AS dropped_time FROM system_schema.dropped_columns",
    "types": "keyspace_name, type_name, field_names, field_types FROM system_schema.types",
    "views": "keyspace_name, view_name, base_table_name, id FROM system_schema.views",
}
_ATTEMPTS = 5


class NodeSchema:
    """Reads all keyspaces, including system keyspaces, because the log contains their updates.
    `node_id` and `cluster_name` override the node's values. `owner` is the node id in the agent's
    offsets, which the agent keeps after an upgrade to 6.0."""

    def __init__(
        self,
        connection: NodeConnection,
        *,
        node_id: str | None = None,
        cluster_name: str | None = None,
        owner: str | None = None,
    ) -> None:
        self._connection = connection
        self._write_options = NodeWriteOptions(connection)
        self._node_id = node_id
        self._cluster_name = cluster_name
        self._owner = owner
        self._verified: str | None = None
        self._metadata_log = MetadataLog(connection)

    @property
    def description(self) -> str:
        return f"Cassandra at {self._connection.address}"

    def fetch(self) -> KnownSchema:
        """Reads the schema. Raises the errors of `NodeConnection`."""
        facts = self._connection.facts()
        identity = NodeIdentity(
            self._node_id or self._host_id(facts),
            self._cluster_name or facts.cluster_name,
            facts.datacenter,
            facts.rack,
        )
        seen_at_us = time.time_ns() // 1000
        version = schema_version(self._connection)
        rows = schema_rows(self._connection, self._metadata_log)
        try:
            schema = Schema.from_system_rows(rows, seen_at_us=seen_at_us)
        except SchemaError as error:
            # The rows are incomplete while the node drops a table.
            raise UnavailableError(f"The schema of {self.description}: {error}") from error
        return KnownSchema(schema, identity, self._write_options.current(facts, version))

    def _host_id(self, facts: NodeFacts) -> str:
        """Returns the host id that the node had at the agent's first start."""
        if self._verified == facts.host_id and self._owner is not None:
            return self._owner
        node = known_node(self._connection, self._owner, facts.host_id)
        self._owner = self._owner or node.node_id
        if node.node_id == self._owner and not node.unverified:
            self._verified = facts.host_id
            if node.node_id != facts.host_id:
                logger.info(
                    "an upgrade changed the node's host id; the agent keeps the former host id",
                    extra=fields(host_id=facts.host_id, node_id=node.node_id),
                )
        return node.node_id

    def close(self) -> None:
        self._connection.close()


def schema_rows(connection: NodeConnection, log: MetadataLog | None = None) -> bytes:
    """Reads the rows of `system_schema` as JSON: `{"tables": [...], "columns": [...], …}`.

    Ids are text, times are milliseconds. Reads the five tables again if the schema version changed
    meanwhile, so that they are consistent. With `log`, also returns `epoch` and `metadata_log` if
    they are certain.
    """
    before = schema_version(connection)
    for _ in range(_ATTEMPTS):
        document: dict[str, Any] = {
            table: [
                {column: _plain(value) for column, value in row.items()}
                for row in connection.rows(f"SELECT {query}")
            ]
            for table, query in _QUERIES.items()
        }
        epoch = epoch_of(before)
        if log is not None and epoch is not None:
            entries = log.upto(epoch)
            if entries is not None:
                document |= {"epoch": epoch, "metadata_log": entries}
        after = schema_version(connection)
        if after == before:
            return orjson.dumps(document)
        before = after
    raise UnavailableError(
        f"Cassandra at {connection.address}: the schema changed during each of {_ATTEMPTS} reads."
    )


def schema_version(connection: NodeConnection) -> str:
    (row,) = connection.rows("SELECT schema_version FROM system.local")
    return str(row["schema_version"])


def _plain(value: Any) -> Any:
    """Converts ids to text, and sets to lists."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Collection):
        return [_plain(element) for element in value]
    return str(value)
