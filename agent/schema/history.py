"""What is known of a node's schema, kept beside the progress.

An agent that starts while its node is away goes on with it; a table that was dropped in between,
or a type that a column had once, is still known: its changes may lie in segments that wait. What
the log itself said is nowhere else once its segments are gone. The file is only a help, so a
damaged one is not used and not an error.
"""

import gzip
import logging
import zlib
from pathlib import Path

import orjson

from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import Schema, SchemaError
from sidecar.files.fsync import write_synced
from sidecar.files.regular import read_regular
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "schema_history.json.gz"

# A table of 1,000 columns has 151 KB in it, and 3 KB packed.
_MAX_PACKED_BYTES = 64 << 20
_MAX_BYTES = 256 << 20
_STEP_BYTES = 1 << 20
_DAMAGE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError)


class SchemaHistory:
    """The schema of one node with its history, as it was saved last."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._unsaved: KnownSchema | None = None
        self._repeated = RateLimitedLog(logger)

    def load(self) -> KnownSchema | None:
        """None when there is no file or it cannot be used."""
        try:
            document = orjson.loads(_unpacked(read_regular(self.path, _MAX_PACKED_BYTES)))
            identity = NodeIdentity(str(document["node_id"]), str(document["cluster_name"]))
            schema = Schema.from_stored(orjson.dumps(document["schema"]))
        except FileNotFoundError:
            return None
        except (*_DAMAGE, SchemaError) as error:
            logger.warning(
                "the kept schema is not used", extra=fields(file=self.path, reason=str(error))
            )
            return None
        return KnownSchema(schema, identity)

    def save(self, known: KnownSchema) -> None:
        """Keeps it in place of what was there. A file that cannot be written is said, is no error,
        and is left to `save_again`."""
        self._unsaved = known
        self.save_again()

    def save_again(self) -> None:
        """Keeps what could not be written before, if there is such."""
        known = self._unsaved
        if known is None:
            return
        document = {
            "node_id": known.identity.node_id,
            "cluster_name": known.identity.cluster_name,
            "schema": orjson.Fragment(known.schema.to_stored()),
        }
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        try:
            write_synced(temporary, gzip.compress(orjson.dumps(document), 6, mtime=0))
            temporary.replace(self.path)
        except OSError as error:
            self._repeated.log(
                "save",
                "the schema cannot be kept for the next start",
                file=self.path,
                reason=error.strerror,
            )
            return
        self._unsaved = None
        self._repeated.resolved("save", "the schema is kept for the next start again")


def _unpacked(packed: bytes) -> bytes:
    """At most `_MAX_BYTES`: a small file can unpack to any size. Raises zlib.error, EOFError,
    ValueError."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    content = bytearray()
    while packed and not unpacker.eof:
        content += unpacker.decompress(packed, _STEP_BYTES)
        packed = unpacker.unconsumed_tail
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it unpacks to more than {_MAX_BYTES >> 20} MiB")
    if not unpacker.eof:
        raise EOFError("its end is missing")
    return bytes(content)
