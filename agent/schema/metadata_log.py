"""The last entries of `system.local_metadata_log` (from Cassandra 6.0 on): since when each table is
as it is."""

import logging
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agent.node.connection import NodeConnection
from agent.node.host_ids import METADATA_LOG
from sidecar.errors import AccessDeniedError
from sidecar.logs import fields

logger = logging.getLogger(__name__)

# The partitioner of this table returns the newest entries first.
_QUERY = f"SELECT epoch, kind, transformation FROM {METADATA_LOG} LIMIT 200"
_SCHEMA_CHANGE = 4


def epoch_of(schema_version: str) -> int | None:
    """The epoch of the last schema change, which is the schema version from 6.0 on
    (`DistributedSchema`). None for the versions of earlier releases, and during an upgrade."""
    epoch = UUID(schema_version).int
    return epoch if 0 < epoch < 1 << 63 else None


class MetadataLog:
    """Reads the log of one node, unless the node denies it."""

    def __init__(self, connection: NodeConnection) -> None:
        self._connection = connection
        self._is_denied = False

    def upto(self, epoch: int) -> list[dict[str, Any]] | None:
        """The last entries, or None if they are not readable or if a schema change after `epoch` is
        among them: `system_schema` may have it already.

        Raises `UnavailableError`.
        """
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
        return [
            {
                "epoch": row["epoch"],
                "kind": row["kind"],
                # Others have no statement, and some have a copy of all metadata.
                "transformation": _transformation(row).hex(),
            }
            for row in rows
        ]


def _transformation(row: Mapping[str, Any]) -> bytes:
    return (row["transformation"] or b"") if row["kind"] == _SCHEMA_CHANGE else b""
