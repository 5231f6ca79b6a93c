"""The schema from a running node: the rows of `system_schema` over CQL."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from agent.schema.connection import NodeConnection, Row
from agent.schema.history import SchemaHistory
from agent.schema.source import Known, NodeIdentity
from commitlog import Schema, SchemaError
from sidecar.errors import UnavailableError

# Source: Cassandra's SchemaKeyspace. What a release lacks is absent from its rows.
_COLUMNS_OF_TABLE: Mapping[str, Sequence[str]] = {
    "tables": ("keyspace_name", "table_name", "id", "flags", "cdc"),
    "columns": (
        *("keyspace_name", "table_name", "column_name"),
        *("kind", "position", "type", "clustering_order"),
    ),
    "dropped_columns": (
        *("keyspace_name", "table_name", "column_name"),
        *("kind", "type", "dropped_time"),
    ),
    "types": ("keyspace_name", "type_name", "field_names", "field_types"),
    "views": ("keyspace_name", "view_name", "base_table_name", "id"),
}
_ATTEMPTS = 5


class NodeSchema:
    """The schema of all keyspaces, the system's too: their updates are in the log as well.

    `node_id` and `cluster_name` stand in place of the node's own answers.
    """

    def __init__(
        self,
        connection: NodeConnection,
        history: SchemaHistory,
        *,
        node_id: str | None = None,
        cluster_name: str | None = None,
    ) -> None:
        self._connection = connection
        self._history = history
        self._node_id = node_id
        self._cluster_name = cluster_name

    @property
    def description(self) -> str:
        return f"Cassandra at {self._connection.address}"

    def remembered(self) -> Known | None:
        return self._history.load()

    def fetch(self) -> Known:
        """Raises `UnavailableError` and `RefusedError` as the connection does."""
        facts = self._connection.facts()
        identity = NodeIdentity(
            self._node_id or facts.host_id, self._cluster_name or facts.cluster_name
        )
        rows = schema_rows(self._connection)
        try:
            schema = Schema.from_system_rows(rows)
        except SchemaError as error:
            # A table that is dropped at this moment has rows in some of the tables only.
            raise UnavailableError(f"The schema of {self.description}: {error}") from error
        self._history.add(rows, identity)
        return Known(schema, identity)

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
                _plain(row, columns)
                for row in connection.rows(f"SELECT * FROM system_schema.{table}")
            ]
            for table, columns in _COLUMNS_OF_TABLE.items()
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


def _plain(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    return {column: _plain_value(row[column]) for column in columns if column in row}


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        # The driver gives UTC without saying so.
        return round(value.replace(tzinfo=UTC).timestamp() * 1000)
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "SortedSet":
        return [_plain_value(element) for element in value]
    return str(value)
