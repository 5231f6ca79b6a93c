"""The coverage in `offset.backing.store.dir`, next to the offsets."""

import logging
from pathlib import Path

from agent.watermark.coverage import Coverage, coverage_from_entries
from sidecar.errors import OffsetSaveError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.properties_store import PropertiesStore

logger = logging.getLogger(__name__)

FILE_NAME = "watermark.properties"


class CoverageStore:
    """The stored coverage of one node."""

    def __init__(self, directory: Path, topic_prefix: str, node_id: str) -> None:
        self._store = PropertiesStore(directory, FILE_NAME, topic_prefix)
        self._node_id = node_id
        self._repeated = RateLimitedLog(logger)

    def load(self) -> Coverage | None:
        """None without one of this node. Raises OffsetStoreError and ConfigError."""
        return coverage_from_entries(self._store.load().values, self._node_id)

    def save(self, coverage: Coverage) -> None:
        """A write error is logged: after a restart an older coverage makes a larger gap."""
        try:
            self._store.save(coverage.to_entries(self._node_id))
        except OffsetSaveError as error:
            self._repeated.log("save", "the watermark cannot be stored", reason=str(error))
        else:
            self._repeated.resolved("save", "storing the watermark works again")
