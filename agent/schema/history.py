"""Stores the known schema and the announced schema, next to the offsets.

With the known schema, the agent can start while the node is unavailable. This schema also contains
dropped tables and earlier column types, for pending segments, and schema changes from deleted
segments. The agent ignores a damaged file with a warning.

The announced schema is stored after its messages are acknowledged, and before the offsets pass its
changes. So a restart can repeat messages but loses none.
"""

import gzip
import logging
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import AnnouncedSchema, Schema, SchemaError
from sidecar.files.directories import replace_synced
from sidecar.files.regular import read_regular
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "schema_history.json.gz"
ANNOUNCED_FILE_NAME = "schema_announced.json.gz"

# A table with 1,000 columns takes 151 KB, and 3 KB compressed.
_MAX_PACKED_BYTES = 64 << 20
_MAX_BYTES = 256 << 20
_DAMAGE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)
"""Errors of reading a damaged file."""

Stored = TypeVar("Stored")


class PackedFile(Generic[Stored]):
    """A compressed document of one node, next to the offsets. Logs errors."""

    def __init__(self, path: Path, *, ignored: str, unsaved: str, saved: str) -> None:
        """The texts are log messages for a damaged file, a write error and the next success."""
        self.path = path
        self._ignored = ignored
        self._unsaved = unsaved
        self._saved = saved
        self._repeated = RateLimitedLog(logger)

    def load(self, parse: Callable[[Any], Stored | None]) -> Stored | None:
        """Reads and parses the file; returns None without a usable file."""
        try:
            packed = read_regular(self.path, _MAX_PACKED_BYTES)
            return parse(orjson.loads(_unpack(packed)))
        except FileNotFoundError:
            return None
        except (*_DAMAGE, SchemaError) as error:
            logger.warning(self._ignored, extra=fields(file=self.path, reason=str(error)))
            return None

    def save(self, document: object) -> bool:
        """Replaces the file; returns False after a write error."""
        try:
            replace_synced(self.path, gzip.compress(orjson.dumps(document), 6, mtime=0))
        except OSError as error:
            self._repeated.log("save", self._unsaved, file=self.path, reason=error.strerror)
            return False
        self._repeated.resolved("save", self._saved)
        return True


class SchemaHistory:
    def __init__(self, directory: Path) -> None:
        self._file = PackedFile[KnownSchema](
            directory / FILE_NAME,
            ignored="the stored schema is ignored",
            unsaved="the schema cannot be stored for the next start",
            saved="storing the schema for the next start works again",
        )
        self.path = self._file.path
        self._unsaved: KnownSchema | None = None

    def load(self) -> KnownSchema | None:
        """Loads the stored schema; returns None without a usable file."""

        def parse(document: Any) -> KnownSchema:
            identity = NodeIdentity(str(document["node_id"]), str(document["cluster_name"]))
            return KnownSchema(Schema.from_stored(orjson.dumps(document["schema"])), identity)

        return self._file.load(parse)

    def save(self, known: KnownSchema) -> None:
        """Replaces the stored schema. `save_again` retries after a write error."""
        self._unsaved = known
        self.save_again()

    def save_again(self) -> None:
        if (known := self._unsaved) is None:
            return
        document = {
            "node_id": known.identity.node_id,
            "cluster_name": known.identity.cluster_name,
            "schema": orjson.Fragment(known.schema.to_stored()),
        }
        if self._file.save(document):
            self._unsaved = None


class AnnouncementStore:
    def __init__(self, directory: Path, node_id: str) -> None:
        self.file = PackedFile[AnnouncedSchema](
            directory / ANNOUNCED_FILE_NAME,
            ignored="the stored announcements are ignored: the agent announces all tables again",
            unsaved="the announced schema cannot be stored, so the offsets are not stored either",
            saved="storing the announced schema works again",
        )
        self._node_id = node_id

    def load(self) -> AnnouncedSchema | None:
        """Loads the announcements; returns None if all tables must be announced again."""

        def parse(document: Any) -> AnnouncedSchema | None:
            if document["node_id"] != self._node_id:
                return None
            return AnnouncedSchema.from_stored(orjson.dumps(document["announced"]))

        return self.file.load(parse)

    def save(self, announced: AnnouncedSchema) -> bool:
        """Replaces the stored announcements; logs a write error and returns False."""
        announcements = orjson.Fragment(announced.to_stored())
        return self.file.save({"node_id": self._node_id, "announced": announcements})


def _unpack(packed: bytes) -> bytes:
    """Decompresses at most `_MAX_BYTES`, because a small file can expand to any size. Raises
    zlib.error, EOFError and ValueError."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    content = unpacker.decompress(packed, _MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it decompresses to more than {_MAX_BYTES >> 20} MiB")
    if not unpacker.eof:
        raise EOFError("its end is missing")
    return content
