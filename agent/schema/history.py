"""The last schemas of a node, kept beside the progress.

An agent that starts while its node is away goes on with them, and a table that was dropped in
between is still known: its changes may lie in segments that wait. They are only a help, so a file
that is damaged is not used and not an error.
"""

import gzip
import logging
import os
import zlib
from pathlib import Path

import orjson

from agent.schema.source import Known, NodeIdentity
from commitlog import Schema, SchemaError
from sidecar.logs import fields

logger = logging.getLogger(__name__)

FILE_NAME = "schema_history.json.gz"
MAX_VERSIONS = 8

_DAMAGE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)


class SchemaHistory:
    """Rows of `system_schema` of one node, oldest first, at most `MAX_VERSIONS` of them."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._identity: NodeIdentity | None = None
        self._versions: list[bytes] = []

    def load(self) -> Known | None:
        """All versions merged; None when there is no file or it cannot be used."""
        try:
            with gzip.open(self.path) as file:
                document = orjson.loads(file.read())
            identity = NodeIdentity(str(document["node_id"]), str(document["cluster_name"]))
            versions = [orjson.dumps(rows) for rows in document["versions"]]
            schema = Schema.from_system_rows(versions[0])
            for rows in versions[1:]:
                schema = schema.merged(Schema.from_system_rows(rows))
        except FileNotFoundError:
            return None
        except (*_DAMAGE, SchemaError) as error:
            logger.warning(
                "the kept schema is not used", extra=fields(file=self.path, reason=str(error))
            )
            return None
        self._identity, self._versions = identity, versions
        return Known(schema, identity)

    def add(self, rows: bytes, identity: NodeIdentity) -> None:
        """Keeps a version unless it is the last one; what another node left is dropped.

        A file that cannot be written is said and is no error.
        """
        if identity != self._identity:
            self._identity, self._versions = identity, []
        if self._versions and self._versions[-1] == rows:
            return
        self._versions = [*self._versions, rows][-MAX_VERSIONS:]
        try:
            self._save()
        except OSError as error:
            logger.warning(
                "the schema cannot be kept for the next start",
                extra=fields(file=self.path, reason=error.strerror),
            )

    def _save(self) -> None:
        assert self._identity is not None
        document = {
            "node_id": self._identity.node_id,
            "cluster_name": self._identity.cluster_name,
            "versions": [orjson.Fragment(rows) for rows in self._versions],
        }
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        with temporary.open("wb") as file:
            file.write(gzip.compress(orjson.dumps(document), 6, mtime=0))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
