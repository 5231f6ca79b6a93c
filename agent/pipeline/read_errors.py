"""Determines why a read failed, what it lost, and whether its file may still grow.

The parser reports damaged bytes as gaps, never as operating system errors. So an error with an
`errno` concerns permissions, the disk, the mount or limits of the process. It disappears with its
cause, so the agent reports it and retries the read indefinitely.

The node completes an index after the file. So a file that is shorter than its index says is
damaged, or another program is still writing it. The agent waits until the file stops changing.

A file of version 6 has no index, and other files can arrive before their indexes. Such a file can
end anywhere, also between two sections. The agent waits for a few seconds after its latest write.
The node moves or releases a segment much later.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.cdc_raw.names import SegmentName
from agent.metrics import DAMAGE, UNKNOWN_SCHEMA, UNREADABLE
from agent.pipeline.reader import ReadResult
from agent.quarantine.files import LostRange
from agent.segments.awaited_files import PATIENCE_S
from agent.segments.state import ReadRequest
from commitlog import (
    CommitLogError,
    CorruptSegmentError,
    ForeignFileError,
    SegmentKeyError,
    read_descriptor,
)
from sidecar.files.access import REMEDIES, access_denial


def is_environmental(error: BaseException) -> bool:
    """Whether the same read can succeed after a change outside the segment."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and bool(error.errno))


def read_error_message(path: Path, error: BaseException) -> str:
    """Formats the path, cause and remedy; for EACCES and EPERM also owner, mode and uid."""
    if not isinstance(error, OSError) or not error.errno:
        reason = "out of memory" if isinstance(error, MemoryError) else str(error)
        return f"{path.name} cannot be read: {reason}."
    reason = f"{os.strerror(error.errno)} ({errno.errorcode.get(error.errno, error.errno)})"
    remedy = REMEDIES.get(error.errno, "")
    if error.errno in (errno.EACCES, errno.EPERM):
        found = access_denial(path)
        remedy = found.message if found is not None else ""
    message = f"{path.name} cannot be read: {reason}. {remedy}"
    return f"{message.rstrip()} Reading is retried every second."


Loss = tuple[str, tuple[LostRange, ...]]
"""A reason from `agent.metrics`, and lost ranges."""


def losses(result: ReadResult) -> Iterator[Loss]:
    """Yields all losses of one read, which must be recorded before the read is used."""
    if result.batch is not None and result.batch.lost:
        yield (
            UNKNOWN_SCHEMA,
            tuple(
                LostRange(lost.start, lost.end, lost.reason, lost.table_id)
                for lost in result.batch.lost
            ),
        )
    if result.batch is not None and result.batch.gaps:
        gaps = result.batch.gaps
        yield DAMAGE, tuple(LostRange(gap.start, gap.end, gap.cause) for gap in gaps)
    if result.error is not None and not may_pass(result.order, result.error):
        error = result.error
        # Nothing was read from a foreign file.
        start = 0 if isinstance(error, ForeignFileError) else result.order.position
        is_said = isinstance(error, CommitLogError)
        cause = str(error) if is_said else f"{type(error).__name__}: {error}"
        yield UNREADABLE, (LostRange(start, None, cause),)


def may_pass(order: ReadRequest, error: BaseException) -> bool:
    """Whether the same read may succeed later: the cause may disappear, or the node may still
    write the header of an active segment."""
    if isinstance(error, CorruptSegmentError):
        return not order.complete
    return is_environmental(error) or isinstance(error, OSError | SegmentKeyError)


class ArrivingFile:
    """Tracks the file that the latest read found too short. Not thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self._seen: tuple[SegmentName, int, int] | None = None
        self._since_s = clock()

    def is_waited_for(self, result: ReadResult, path: Path) -> bool:
        """Whether the file may still grow, after a read that found less than the index says or
        without an index that shows the end."""
        shows_end = has_known_end(result)
        if not (_ends_early(result) if shows_end else _is_at_end(result)):
            return False
        try:
            found = path.stat()
        except OSError:
            return False
        # A rename by the node changes the `st_ctime` of a file without an index, but not its data.
        changed_at_s = found.st_ctime if shows_end else found.st_mtime
        if time.time() - changed_at_s > PATIENCE_S:
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
    """Whether the log is compressed or encrypted, so that the file's length says nothing."""
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
