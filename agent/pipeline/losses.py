"""What of a read gave no events, in the words of the quarantine. Pure."""

from collections.abc import Iterator

from agent.metrics import DAMAGE, UNKNOWN_SCHEMA, UNREADABLE
from agent.pipeline.holding import Missing
from agent.pipeline.reading import ReadResult
from agent.quarantine import LostRange
from agent.segments import Read
from commitlog import CommitLogError, CorruptSegmentError

Loss = tuple[str, tuple[LostRange, ...]]
"""A reason of `agent.metrics`, and ranges."""


def losses(result: ReadResult, missing: Missing | None) -> Iterator[Loss]:
    """`missing` is what the record needed that was passed over before the read."""
    if result.skipped is not None:
        skipped = result.skipped
        table_id = missing.table_id if missing is not None else None
        yield UNKNOWN_SCHEMA, (LostRange(skipped.start, skipped.end, skipped.cause, table_id),)
    if result.batch is not None and result.batch.gaps:
        gaps = result.batch.gaps
        yield DAMAGE, tuple(LostRange(gap.start, gap.end, gap.cause) for gap in gaps)
    if result.error is not None and not may_pass(result.order, result.error):
        yield UNREADABLE, (LostRange(result.order.position, None, _cause(result.error)),)


def may_pass(order: Read, error: BaseException) -> bool:
    """True when the same read may succeed later: a disk or a permission comes back, and a segment
    that lives on may get its header."""
    if isinstance(error, CorruptSegmentError):
        return not order.complete
    return isinstance(error, OSError | MemoryError)


def _cause(error: BaseException) -> str:
    is_said = isinstance(error, CommitLogError)
    return str(error) if is_said else f"{type(error).__name__}: {error}"
