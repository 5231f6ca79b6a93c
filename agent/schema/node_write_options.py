"""The write options that a running node reports."""

import time
from collections.abc import Callable
from dataclasses import replace

from agent.node.connection import NodeConnection, NodeFacts
from agent.node.running_settings import release_of
from agent.schema.write_options import WriteOptions, options_from_cql, options_from_rows
from sidecar.errors import SidecarError

_FIRST_WITH_TRANSACTIONS = 6
_KEYSPACES = "SELECT keyspace_name, durable_writes FROM system_schema.keyspaces"
_TABLES = "SELECT keyspace_name, table_name FROM system_schema.tables"
_INTERVAL_S = 300.0
"""Between two reads without a new version of the schema."""


def read_write_options(connection: NodeConnection, facts: NodeFacts) -> WriteOptions:
    """Asks the node. An error is in the result: the schema is of use without these options."""
    try:
        if release_of(facts) < _FIRST_WITH_TRANSACTIONS:
            return options_from_rows(connection.rows(_KEYSPACES), connection.rows(_TABLES))
        # DESCRIBE needs a login and no right.
        rows = connection.rows("DESCRIBE SCHEMA")
    except SidecarError as error:
        return WriteOptions(error=str(error))
    return options_from_cql("\n".join(str(row["create_statement"]) for row in rows))


class NodeWriteOptions:
    """The options of one node, read again after an upgrade, with a new version of its schema and
    every five minutes.

    DESCRIBE returns the whole schema, so it is not part of each fetch.
    """

    def __init__(
        self, connection: NodeConnection, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns seconds."""
        self._connection = connection
        self._clock = clock
        self._known: tuple[str, str] | None = None
        self._read_s = 0.0
        self._options = WriteOptions()

    def current(self, facts: NodeFacts, version: str) -> WriteOptions:
        """The options for a version of the schema that was read before this call; after a failure
        those of the last answer, with the error."""
        now_s, wanted = self._clock(), (facts.release_version, version)
        if wanted != self._known or now_s - self._read_s >= _INTERVAL_S:
            read = read_write_options(self._connection, facts)
            # The last answer stands, so that a busy node does not seem to have changed.
            self._options = replace(self._options, error=read.error) if read.error else read
            self._known = None if read.error else wanted
            self._read_s = now_s
        return self._options
