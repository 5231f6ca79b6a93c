"""Decides which writes a rebuild includes, and whether the sources reach back to them. Pure.

Compaction of the version store removes values that later writes replaced. So the writes up to a
time are complete only in a version from before that time with the events since then, in the level
`history`, or in archived segments.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from spark_jobs.errors import JobError
from spark_jobs.merge import ReadOptions

_US = 1_000_000
_CLOCK_SKEW_US = 60 * _US
"""Allowed difference between the clocks of the clients and of the job that fills the store."""
_GREGORIAN_100_NS = 0x01B21DD213814000
"""The time from 1582, when the clock of time UUIDs begins, to 1970."""


@dataclass(frozen=True, slots=True)
class Window:
    """Selects all writes, the writes up to `until_us`, or the writes outside `without_us`.

    Times are write times in microseconds, and inclusive. `now_us` is the current time.
    """

    now_us: int
    until_us: int | None = None
    without_us: tuple[int, int] | None = None

    @property
    def second(self) -> int:
        """The second at which expiry is evaluated."""
        return (self.now_us if self.until_us is None else self.until_us) // _US

    @property
    def complete_to_us(self) -> int:
        """The window includes all writes up to this time, so a source must contain all of them."""
        if self.without_us is not None:
            return self.without_us[0] - 1
        return self.now_us if self.until_us is None else self.until_us

    @property
    def undo_us(self) -> int:
        """The write time of statements that undo the excluded writes.

        It is the first time after the excluded window, so that later writes take precedence.
        """
        return self.now_us if self.without_us is None else self.without_us[1] + 1

    def admits(self, written_us: int) -> bool:
        if self.without_us is not None:
            return not self.without_us[0] <= written_us <= self.without_us[1]
        return self.until_us is None or written_us <= self.until_us

    def truncated_us(self, markers_us: Iterable[int]) -> int | None:
        """The latest truncation that the window admits."""
        return max(filter(self.admits, markers_us), default=None)

    def merge_options(self, markers_us: Iterable[int]) -> ReadOptions:
        return {
            "now_s": self.second,
            "truncated_us": self.truncated_us(markers_us),
            "until_us": self.until_us,
            "without_us": self.without_us,
        }


@dataclass(frozen=True, slots=True)
class StoreCommit:
    """A version in the store's Delta log."""

    version: int
    committed_us: int


@dataclass(frozen=True, slots=True)
class StoreRead:
    """What to read from the store: the rows of `base`, and the events of later commits.

    If `base` is None, all events from the first commit on. With `with_history`, only the rows of
    the latest version, including superseded states.
    """

    base: int | None = None
    with_history: bool = False


def plan_store_read(
    commits: Sequence[StoreCommit], complete_to_us: int, *, now_us: int, history_s: int
) -> StoreRead | None:
    """Plan a read of every write up to a time; None if the log does not reach back far enough."""
    if history_s and now_us - complete_to_us <= history_s * _US:
        return StoreRead(with_history=True)
    limit_us = complete_to_us - _CLOCK_SKEW_US
    # Commits are ordered by version, because the clock of a job can be set back.
    later = [commit.version for commit in commits if commit.committed_us > limit_us]
    first_later = min(later, default=math.inf)
    earlier = [commit.version for commit in commits if commit.version < first_later]
    if earlier:
        return StoreRead(base=max(earlier))
    if any(commit.version == 0 for commit in commits):
        return StoreRead()
    return None


def created_us(table_id: str) -> int | None:
    """The time at which a table was created, from its id; None for ids of Cassandra 6.0."""
    found = UUID(table_id)
    return (found.time - _GREGORIAN_100_NS) // 10 if found.version == 1 else None


def require_complete(
    full_name: str,
    table_id: str,
    complete_to_us: int,
    *,
    has_store: bool,
    store_read: StoreRead | None,
    commits: Sequence[StoreCommit],
    oldest_segment_ms: int | None,
) -> None:
    """Raise `JobError` unless a source contains every write of the table up to a time.

    Segments are complete if the oldest segment is older than the table.
    """
    if store_read is not None:
        return
    made_us = created_us(table_id)
    if oldest_segment_ms is not None and made_us is not None and oldest_segment_ms * 1000 < made_us:
        return
    found = []
    if has_store:
        first = min(commits, key=lambda commit: commit.version, default=None)
        since = "" if first is None else f" begins at {_shown(first.committed_us)} and"
        found.append(f"the Delta log of the store{since} has no earlier version")
    if oldest_segment_ms is not None:
        found.append(f"the oldest segment is from {_shown(oldest_segment_ms * 1000)}")
    birth = "" if made_us is None else f" at {_shown(made_us)}"
    raise JobError(
        f"{full_name} cannot be rebuilt as it was at {_shown(complete_to_us)}: "
        f"{', and '.join(found)}. Set `segments` to archived segments since the table was created"
        f"{birth}; or `store.version` to an earlier version of the store; or "
        "`history.retention.seconds` if the store keeps superseded states for long enough; or "
        "`accept.incomplete=true` to rebuild without older writes."
    )


def _shown(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / _US, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
