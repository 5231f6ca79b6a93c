"""The writes that count for a rebuilt table, and how far back the sources have them. Pure.

Compaction of the version store keeps only winners: a value that a later write replaced is gone. So
the writes up to a time are complete only in a version from before that time, in the events since
then, in the level `history`, or in archived segments.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from spark_jobs.errors import JobError

_US = 1_000_000
_US = 1_000_000
_CLOCK_SKEW_US = 60 * _US
"""Between the clocks of the clients and of the job that commits to the store."""
_GREGORIAN_100_NS = 0x01B21DD213814000
"""From 1582 to 1970."""


@dataclass(frozen=True, slots=True)
class Window:
    """The writes up to `until_us`, or those outside of `without_us` (both included), or all.

    Times are write times in microseconds. `now_us` is the present time.
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
        """All writes up to this time count, so a source needs to have them as they were then."""
        if self.without_us is not None:
            return self.without_us[0] - 1
        return self.now_us if self.until_us is None else self.until_us

    @property
    def undo_us(self) -> int:
        """The write time of statements that undo the other writes.

        It is the first one after a window, so that later writes take precedence.
        """
        return self.now_us if self.without_us is None else self.without_us[1] + 1

    def admits(self, written_us: int) -> bool:
        if self.without_us is not None:
            return not self.without_us[0] <= written_us <= self.without_us[1]
        return self.until_us is None or written_us <= self.until_us

    def truncated_us(self, markers_us: Iterable[int]) -> int | None:
        """The last truncation that counts."""
        return max(filter(self.admits, markers_us), default=None)

    def merge_options(self, markers_us: Iterable[int]) -> dict[str, Any]:
        """Arguments of `Merger.rows` and `Merger.typed`."""
        return {
            "now_s": self.second,
            "truncated_us": self.truncated_us(markers_us),
            "until_us": self.until_us,
            "without_us": self.without_us,
        }


@dataclass(frozen=True, slots=True)
class StoreCommit:
    """A version of the store that its Delta log has."""

    version: int
    committed_us: int


@dataclass(frozen=True, slots=True)
class StoreRead:
    """What to read of the store: the rows of `base` and the events of the commits after it.

    `base` None: all events from the first commit on. `with_history`: the rows of the latest
    version, with superseded states, and nothing else.
    """

    base: int | None = None
    with_history: bool = False


def plan_store_read(
    commits: Sequence[StoreCommit], complete_to_us: int, *, now_us: int, history_s: int
) -> StoreRead | None:
    """A read that has every write up to a time; None if the log does not reach back so far."""
    if history_s and now_us - complete_to_us <= history_s * _US:
        return StoreRead(with_history=True)
    limit_us = complete_to_us - _CLOCK_SKEW_US
    # The order of commits is that of versions: the clock of a job can be set back.
    later = [commit.version for commit in commits if commit.committed_us > limit_us]
    first_later = min(later, default=math.inf)
    earlier = [commit.version for commit in commits if commit.version < first_later]
    if earlier:
        return StoreRead(base=max(earlier))
    if any(commit.version == 0 for commit in commits):
        return StoreRead()
    return None


def created_us(table_id: str) -> int | None:
    """The time at which a table was created, from its id; None from Cassandra 6.0 on."""
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
    """Raises `JobError` unless a source has every write of the table up to a time.

    Segments do if the oldest one is older than the table.
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
        found.append(f"the Delta log of the store{since} has no version from before")
    if oldest_segment_ms is not None:
        found.append(f"the oldest segment is from {_shown(oldest_segment_ms * 1000)}")
    birth = "" if made_us is None else f", which is {_shown(made_us)}"
    raise JobError(
        f"{full_name} cannot be rebuilt as it was at {_shown(complete_to_us)}: "
        f"{', and '.join(found)}. Set `segments` to archived segments since the table was created"
        f"{birth}; or `store.version` to a version of the store from before; or "
        "`history.retention.seconds` if the store keeps superseded states for long enough; or "
        "`accept.incomplete=true` to do without older writes."
    )


def _shown(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / _US, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
