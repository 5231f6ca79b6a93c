"""The node that stored offsets belong to."""

from pathlib import Path

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE
from agent.segments.offsets import NODE_ID_KEY
from sidecar.errors import OffsetStoreError
from sidecar.offsets.properties_store import PropertiesStore


def offsets_owner(directory: Path) -> str | None:
    """The node id in the offset files of `directory`; None without a usable file, which the
    pipeline reports."""
    for file in (OFFSET_FILE, SNAPSHOT_FILE):
        try:
            owner = PropertiesStore(directory, file).load().values.get(NODE_ID_KEY)
        except OffsetStoreError:
            continue
        if owner is not None:
            return owner
    return None
