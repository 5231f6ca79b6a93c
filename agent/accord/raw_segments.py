"""Segments that the agent writes into `cdc_raw`, whole and with a completed index.

Their ids are small numbers, which no node uses: a node's ids begin at the time of its start in
milliseconds. So they sort before the node's segments and decide nothing about them.
"""

from collections.abc import Callable
from pathlib import Path

from agent.cdc_raw.names import SegmentName, temporary_of
from sidecar.files.fsync import sync_directory, write_synced

_VERSION = 9
_OWN_IDS = 1 << 40
"""A node that started after 2004 has larger ids."""
_RESERVED = 1000
"""Ids that are reserved at once, so that most segments cost no further write."""
_LAST_MARKER_BYTES = 8


def is_own(name: SegmentName) -> bool:
    """Whether the agent made a segment."""
    return name.id < _OWN_IDS


class RawSegments:
    """For one thread, that of the scans of `cdc_raw`: none sees a segment without its index."""

    def __init__(self, directory: Path, next_id: int, reserve: Callable[[int], None]) -> None:
        """`next_id` is the first unused id; `reserve` stores the one after those in use, durably,
        because the offsets remember the ids of finished segments."""
        self._directory = directory
        self._next_id = next_id
        self._reserve = reserve
        self._reserved = next_id

    @property
    def reserved(self) -> int:
        """The first id that is not reserved."""
        return self._reserved

    def take(self) -> SegmentName:
        """An unused name. Raises what `reserve` raises."""
        if self._next_id >= self._reserved:
            self._reserve(self._next_id + _RESERVED)
            self._reserved = self._next_id + _RESERVED
        name = SegmentName(self._next_id, _VERSION)
        self._next_id += 1
        return name

    def write(self, name: SegmentName, segment: bytes) -> None:
        """Durable on return. Raises OSError."""
        end = len(segment) - _LAST_MARKER_BYTES
        index = f"{end}\nCOMPLETED".encode("ascii")
        for file_name, content in ((name.log, segment), (name.idx, index)):
            path = self._directory / file_name
            write_synced(temporary_of(path), content)
            temporary_of(path).replace(path)
        sync_directory(self._directory)
