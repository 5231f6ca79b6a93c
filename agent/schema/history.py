"""What the agent stores of schemas, next to the offsets: the known schema, and what was announced.

The agent can start with the known schema while the node is unavailable. It has dropped tables and
earlier column types, whose changes can be in pending segments, and schema changes from segments
that no longer exist. A damaged file is ignored with a warning.

What the schema-change topic announced is stored before the offsets pass the changes that it
includes, and after their messages are acknowledged. So a restart repeats messages and loses none.
"""

import gzip
import logging
import zlib
from pathlib import Path

import orjson

from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import AnnouncedSchema, Schema, SchemaError
from sidecar.files.fsync import write_synced
from sidecar.files.regular import read_regular
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "schema_history.json.gz"

# A table of 1,000 columns has 151 KB in it, and 3 KB packed.
_MAX_PACKED_BYTES = 64 << 20
_MAX_BYTES = 256 << 20
_STEP_BYTES = 1 << 20
DAMAGE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)
"""What reading a damaged file raises."""


class SchemaHistory:
    """The stored schema of one node with its history."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._unsaved: KnownSchema | None = None
        self._repeated = RateLimitedLog(logger)

    def load(self) -> KnownSchema | None:
        """None without a usable file."""
        try:
            document = orjson.loads(read_packed(self.path))
            identity = NodeIdentity(str(document["node_id"]), str(document["cluster_name"]))
            schema = Schema.from_stored(orjson.dumps(document["schema"]))
        except FileNotFoundError:
            return None
        except (*DAMAGE, SchemaError) as error:
            logger.warning(
                "the stored schema is ignored", extra=fields(file=self.path, reason=str(error))
            )
            return None
        return KnownSchema(schema, identity)

    def save(self, known: KnownSchema) -> None:
        """Replaces the stored schema. A write error is logged; `save_again` retries it."""
        self._unsaved = known
        self.save_again()

    def save_again(self) -> None:
        known = self._unsaved
        if known is None:
            return
        document = {
            "node_id": known.identity.node_id,
            "cluster_name": known.identity.cluster_name,
            "schema": orjson.Fragment(known.schema.to_stored()),
        }
        try:
            write_packed(self.path, document)
        except OSError as error:
            self._repeated.log(
                "save",
                "the schema cannot be stored for the next start",
                file=self.path,
                reason=error.strerror,
            )
            return
        self._unsaved = None
        self._repeated.resolved("save", "storing the schema for the next start works again")


def read_packed(path: Path) -> bytes:
    """The content of a packed file. Raises one of `DAMAGE`."""
    return _unpack(read_regular(path, _MAX_PACKED_BYTES))


def write_packed(path: Path, document: object) -> None:
    """Replaces a packed file by a document for `orjson`. Raises OSError."""
    temporary = path.with_name(f".{path.name}.tmp")
    write_synced(temporary, gzip.compress(orjson.dumps(document), 6, mtime=0))
    temporary.replace(path)


def _unpack(packed: bytes) -> bytes:
    """Decompresses at most `_MAX_BYTES`, because a small file can expand to any size. Raises
    zlib.error, EOFError and ValueError."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    content = bytearray()
    while packed and not unpacker.eof:
        content += unpacker.decompress(packed, _STEP_BYTES)
        packed = unpacker.unconsumed_tail
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it decompresses to more than {_MAX_BYTES >> 20} MiB")
    if not unpacker.eof:
        raise EOFError("its end is missing")
    return bytes(content)


ANNOUNCED_FILE_NAME = "schema_announced.json.gz"


class AnnouncementStore:
    """The stored announcements of one node."""

    def __init__(self, directory: Path, node_id: str) -> None:
        self.path = directory / ANNOUNCED_FILE_NAME
        self._node_id = node_id
        self._repeated = RateLimitedLog(logger)

    def load(self) -> AnnouncedSchema | None:
        """None without a usable file of this node: then all tables are announced again."""
        try:
            document = orjson.loads(read_packed(self.path))
            if document["node_id"] != self._node_id:
                return None
            return AnnouncedSchema.from_stored(orjson.dumps(document["announced"]))
        except FileNotFoundError:
            return None
        except (*DAMAGE, SchemaError) as error:
            logger.warning(
                "the stored announcements are ignored: the agent announces all tables again",
                extra=fields(file=self.path, reason=str(error)),
            )
            return None

    def save(self, announced: AnnouncedSchema) -> bool:
        """Replaces the stored announcements; False after a write error, which is logged."""
        document = {
            "node_id": self._node_id,
            "announced": orjson.Fragment(announced.to_stored()),
        }
        try:
            write_packed(self.path, document)
        except OSError as error:
            self._repeated.log(
                "save",
                "the announced schema cannot be stored, so the offsets are not stored either",
                file=self.path,
                reason=error.strerror,
            )
            return False
        self._repeated.resolved("save", "storing the announced schema works again")
        return True
