"""A complete segment whose file is still written, as by a restore or a copy.

The node completes an index after the file. So a file that ends before its index says is damaged, or
another program has not written all of it yet. The agent waits until such a file stays as it is.
"""

import time
from collections.abc import Callable
from pathlib import Path

from agent.cdc_raw.names import SegmentName
from agent.pipeline.read_worker import ReadResult
from agent.segments.awaited_files import PATIENCE_S
from commitlog import CommitLogError, CorruptSegmentError, read_descriptor


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
        if not _ends_early(result):
            return False
        try:
            found = path.stat()
        except OSError:
            return False
        if self._wall_clock() - found.st_ctime > PATIENCE_S:
            return False
        if found.st_size >= result.order.expected_end and not _has_blocks(path):
            return False
        seen, now_s = (result.order.name, found.st_size, found.st_mtime_ns), self._clock()
        if seen != self._seen:
            self._seen, self._since_s = seen, now_s
        return now_s - self._since_s < PATIENCE_S


def _has_blocks(path: Path) -> bool:
    """Whether the length of the file says nothing about the length of the log in it."""
    try:
        descriptor = read_descriptor(str(path))
    except (CommitLogError, OSError):
        return False
    return descriptor.compression is not None or descriptor.encrypted


def _ends_early(result: ReadResult) -> bool:
    order, batch = result.order, result.batch
    if not order.complete:
        return False
    if batch is None:
        return isinstance(result.error, CorruptSegmentError)
    if batch.stop != "end" or not batch.gaps:
        return False
    end = batch.gaps[-1].end
    return end is None or end >= order.expected_end
