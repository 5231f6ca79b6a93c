"""What a comparison has read so far, and how long it may still wait."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from spark_jobs.compare.digests import RangeDigest

_FORMAT = 1
_Observed = TypeVar("_Observed")
_POLL_S = 2.0


@dataclass(frozen=True, slots=True)
class ReadRanges:
    """Ranges that were read together, between two moments in microseconds."""

    ranges: tuple[int, ...]
    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A comparison that may continue in another run."""

    table_id: str
    consistency: str
    ranges: int
    store_version: int
    """Version of the store before the first read."""
    second: int
    """Values that expire up to this second are left out of digests."""
    digests: Mapping[int, RangeDigest] = field(default_factory=dict)
    """Of the live table, by range."""
    read: tuple[ReadRanges, ...] = ()
    """Ranges with a digest. Those without rows have none in `digests`."""
    stored: tuple[ReadRanges, ...] = ()
    """Ranges whose live rows are in the folder, each group in a subfolder by its index."""
    is_finished: bool = False

    def unread(self) -> list[int]:
        """The ranges without a digest."""
        return _without(range(self.ranges), self.read)

    def differing(self, store: Mapping[int, RangeDigest]) -> list[int]:
        """The ranges whose digests differ from those of the store."""
        empty = RangeDigest()
        return [
            number
            for number in range(self.ranges)
            if _comparable(self.digests.get(number, empty)) != _comparable(store.get(number, empty))
        ]

    def to_store(self, differing: Iterable[int]) -> list[int]:
        """The ranges of these whose live rows are not in the folder."""
        return _without(differing, self.stored)

    def with_digests(self, group: ReadRanges, found: Mapping[int, RangeDigest]) -> "Progress":
        return replace(self, digests={**self.digests, **found}, read=(*self.read, group))

    def with_rows(self, group: ReadRanges) -> "Progress":
        return replace(self, stored=(*self.stored, group))

    @property
    def last_read_us(self) -> int:
        """The end of the last read."""
        return max((each.to_us for each in (*self.read, *self.stored)), default=0)

    @property
    def live_rows(self) -> int:
        return sum(each.rows for each in self.digests.values())

    @property
    def live_oldest_us(self) -> int | None:
        """The smallest write time in the live table; None if it has none."""
        known = [each.oldest_us for each in self.digests.values() if each.oldest_us is not None]
        return min(known, default=None)


def progress_to_json(progress: Progress) -> str:
    return json.dumps({"format": _FORMAT, **asdict(progress)})


def progress_from_json(text: str) -> Progress:
    """Raises ValueError, KeyError or TypeError for another text."""
    document: dict[str, Any] = json.loads(text)
    if document.pop("format") != _FORMAT:
        raise ValueError("another format")
    digests = {int(number): RangeDigest(**each) for number, each in document["digests"].items()}
    groups = {
        name: tuple(
            ReadRanges(**{**each, "ranges": tuple(each["ranges"])}) for each in document[name]
        )
        for name in ("read", "stored")
    }
    return Progress(**{**document, "digests": digests, **groups})


def groups_of(ranges: Iterable[int], size: int) -> list[list[int]]:
    """The ranges in groups that are read together."""
    found = list(ranges)
    return [found[start : start + size] for start in range(0, len(found), size)]


def _comparable(digest: RangeDigest) -> tuple[int, int]:
    return digest.rows, digest.hash


def _without(ranges: Iterable[int], groups: Iterable[ReadRanges]) -> list[int]:
    done = {number for group in groups for number in group.ranges}
    return [number for number in ranges if number not in done]


class WaitBudget:
    """Only waits use it up; the reads and comparisons between them do not."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._left_s = seconds
        self._clock = clock
        self._pause = pause

    def until(
        self, observe: Callable[[], _Observed], is_done: Callable[[_Observed], bool]
    ) -> _Observed:
        """Observe at once and then every few seconds, until `is_done` or until the time is used up.
        Returns the last observation."""
        found = observe()
        deadline_s = self._clock() + self._left_s
        while not is_done(found) and (left_s := deadline_s - self._clock()) > 0:
            self._pause(min(_POLL_S, left_s))
            found = observe()
        self._left_s = max(0.0, deadline_s - self._clock())
        return found
