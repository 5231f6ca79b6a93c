"""A complete segment whose file is still written, as by a restore or a copy.

The node completes an index after the file. So a file that ends before its index says is damaged, or
another program has not written all of it yet. The agent waits until such a file stays as it is.

A file of version 6 has no index, and other files can come before theirs. Such a file can end at any
place, also between two sections. The agent waits until some seconds after its last write. The node
moves or releases a segment long after that.
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
        """True while the read found less than the index says, or no index shows the end, and the
        file may still grow."""
        shows_end = has_known_end(result)
        if not (_ends_early(result) if shows_end else _is_at_end(result)):
            return False
        try:
            found = path.stat()
        except OSError:
            return False
        # The node's rename of a file without an index changes `st_ctime`, and is no write.
        changed_at_s = found.st_ctime if shows_end else found.st_mtime
        if self._wall_clock() - changed_at_s > PATIENCE_S:
            return False
        is_long = shows_end and found.st_size >= result.order.expected_end
        if is_long and not _has_blocks(path):
            return False
        seen, now_s = (result.order.name, found.st_size, found.st_mtime_ns), self._clock()
        if seen != self._seen:
            self._seen, self._since_s = seen, now_s
        return now_s - self._since_s < PATIENCE_S


def has_known_end(result: ReadResult) -> bool:
    """Whether an index shows where the file ends."""
    return result.order.expected_end > 0 or result.order.completed_at > 0


def _has_blocks(path: Path) -> bool:
    """Whether the length of the file says nothing about the length of the log in it."""
    try:
        descriptor = read_descriptor(str(path))
    except (CommitLogError, OSError):
        return False
    return descriptor.compression is not None or descriptor.encrypted


def _is_at_end(result: ReadResult) -> bool:
    if not result.order.complete:
        return False
    if result.batch is None:
        return isinstance(result.error, CorruptSegmentError)
    return result.batch.stop == "end"


def _ends_early(result: ReadResult) -> bool:
    order, batch = result.order, result.batch
    if not _is_at_end(result):
        return False
    if batch is None:
        return True
    if not batch.gaps:
        return False
    end = batch.gaps[-1].end
    return end is None or end >= order.expected_end
