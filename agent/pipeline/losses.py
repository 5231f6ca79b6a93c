"""Ranges of a read that gave no events, as records of the quarantine. Pure."""

from collections.abc import Iterator

from agent.metrics import DAMAGE, UNKNOWN_SCHEMA, UNREADABLE
from agent.pipeline.read_errors import is_environmental
from agent.pipeline.read_worker import ReadResult
from agent.quarantine.reason import LostRange
from agent.segments.state import ReadRequest
from commitlog import CommitLogError, CorruptSegmentError, ForeignFileError, SegmentKeyError

Loss = tuple[str, tuple[LostRange, ...]]
"""A reason of `agent.metrics`, and ranges."""


def losses(result: ReadResult) -> Iterator[Loss]:
    """All losses of one read, to be recorded at once."""
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
        # Of another file nothing was read.
        start = 0 if isinstance(result.error, ForeignFileError) else result.order.position
        yield UNREADABLE, (LostRange(start, None, _cause(result.error)),)


def may_pass(order: ReadRequest, error: BaseException) -> bool:
    """True when the same read may succeed later: its cause may end, and the node may still write
    the header of an active segment."""
    if isinstance(error, CorruptSegmentError):
        return not order.complete
    return is_environmental(error) or isinstance(error, OSError | SegmentKeyError)


def _cause(error: BaseException) -> str:
    is_said = isinstance(error, CommitLogError)
    return str(error) if is_said else f"{type(error).__name__}: {error}"
