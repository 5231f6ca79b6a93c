"""The schema from a running node: the rows of `system_schema` over CQL."""

import time
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from agent.node.connection import NodeConnection
from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import Schema, SchemaError
from sidecar.errors import UnavailableError

# Source: Cassandra's SchemaKeyspace. Drop times are asked for as numbers, because those of the
# system's own columns lie beyond the years that Python has.
_QUERIES: Mapping[str, str] = {
    "tables": "keyspace_name, table_name, id, flags, cdc FROM system_schema.tables",
    "columns": "keyspace_name, table_name, column_name, kind, position, type, clustering_order "
    "FROM system_schema.columns",
    "dropped_columns": "keyspace_name, table_name, column_name, kind, type, "
    "toUnixTimestamp(dropped_time) AS dropped_time FROM system_schema.dropped_columns",
    "types": "keyspace_name, type_name, field_names, field_types FROM system_schema.types",
    "views": "keyspace_name, view_name, base_table_name, id FROM system_schema.views",
}
_ATTEMPTS = 5


class NodeSchema:
    """The schema of all keyspaces, the system's too: their updates are in the log as well.

    `node_id` and `cluster_name` stand in place of the node's own answers.
    """

    def __init__(
        self,
        connection: NodeConnection,
        *,
        node_id: str | None = None,
        cluster_name: str | None = None,
    ) -> None:
        self._connection = connection
        self._node_id = node_id
        self._cluster_name = cluster_name

    @property
    def description(self) -> str:
        return f"Cassandra at {self._connection.address}"

    def fetch(self) -> KnownSchema:
        """Raises `UnavailableError` and `RefusedError` as the connection does."""
        facts = self._connection.facts()
        identity = NodeIdentity(
            self._node_id or facts.host_id, self._cluster_name or facts.cluster_name
        )
        seen_at_us = time.time_ns() // 1000
        rows = schema_rows(self._connection)
        try:
            schema = Schema.from_system_rows(rows, seen_at_us=seen_at_us)
        except SchemaError as error:
            # A table that is dropped at this moment has rows in some of the tables only.
            raise UnavailableError(f"The schema of {self.description}: {error}") from error
        return KnownSchema(schema, identity)

    def close(self) -> None:
        self._connection.close()


def schema_rows(connection: NodeConnection) -> bytes:
    """The rows of `system_schema` as JSON: `{"tables": [...], "columns": [...], …}`.

    Ids are text and times milliseconds. The five tables are read again when the schema version
    changed in between, so that they belong together.
    """
    before = _version(connection)
    for _ in range(_ATTEMPTS):
        document = {
            table: [
                {column: _plain(value) for column, value in row.items()}
                for row in connection.rows(f"SELECT {query}")
            ]
            for table, query in _QUERIES.items()
        }
        after = _version(connection)
        if after == before:
            return orjson.dumps(document)
        before = after
    raise UnavailableError(
        f"The schema of Cassandra at {connection.address} changes faster than it can be read."
    )


def _version(connection: NodeConnection) -> str:
    (row,) = connection.rows("SELECT schema_version FROM system.local")
    return str(row["schema_version"])


def _plain(value: Any) -> Any:
    """Ids as text, sets as lists."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Collection):
        return [_plain(element) for element in value]
    return str(value)
