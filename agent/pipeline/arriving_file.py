"""A complete segment whose file is still written, as by a restore or a copy.

The node completes an index after the file. So a file that ends before its index says is damaged, or
another program has not written all of it yet. The agent waits until such a file stays as it is.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from agent.cdc_raw.names import SegmentName
from agent.pipeline.read_worker import ReadResult
from agent.segments.awaited_files import PATIENCE_S
from commitlog import CorruptSegmentError

_HEADER_BYTES = 4096


class ArrivingFile:
    """The file that the last read found too short. For one thread."""

    def __init__(self, clock: Callable[[], float], wall_clock: Callable[[], float] = time.time):
        """Both give seconds; `wall_clock` is that of the file system."""
        self._clock = clock
        self._wall_clock = wall_clock
        self._seen: tuple[SegmentName, int, int] | None = None
        self._since_s = clock()

    def is_waited_for(self, result: ReadResult, path: Path) -> bool:
        """True while the read found less than the index says, and the file may still grow."""
        try:
            found = path.stat()
        except OSError:
            return False
        if not _ends_early(result, found.st_size):
            return False
        if self._wall_clock() - found.st_ctime > PATIENCE_S:
            return False
        return self._has_changed(result.order.name, found)

    def _has_changed(self, name: SegmentName, found: os.stat_result) -> bool:
        """Whether the file was another one in the last ten seconds."""
        seen, now_s = (name, found.st_size, found.st_mtime_ns), self._clock()
        if seen != self._seen:
            self._seen, self._since_s = seen, now_s
        return now_s - self._since_s < PATIENCE_S


def _ends_early(result: ReadResult, file_bytes: int) -> bool:
    order, batch = result.order, result.batch
    # Blocks are shorter than the log in them, so of those this says little.
    if not order.complete or file_bytes >= order.expected_end:
        return False
    if batch is None:
        return isinstance(result.error, CorruptSegmentError) and file_bytes < _HEADER_BYTES
    if batch.stop != "end" or not batch.gaps:
        return False
    end = batch.gaps[-1].end
    return end is None or end >= order.expected_end
