"""What the schema-change topic announced, stored next to the offsets.

It is stored before the offsets pass the changes that it includes, and after their messages are
acknowledged. So a restart repeats messages and loses none.
"""

import logging
from pathlib import Path

import orjson

from agent.schema.history import DAMAGE, read_packed, write_packed
from commitlog import AnnouncedSchema, SchemaError
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "schema_announced.json.gz"


class AnnouncementStore:
    """The stored announcements of one node."""

    def __init__(self, directory: Path, node_id: str) -> None:
        self.path = directory / FILE_NAME
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
