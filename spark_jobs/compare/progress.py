"""The progress of a comparison, and the time that it may spend waiting."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter

from spark_jobs.compare.digests import RangeDigest

_FORMAT = 1
_Observed = TypeVar("_Observed")
_POLL_S = 2.0


@dataclass(frozen=True, slots=True)
class ReadRanges:
    """Ranges that were read together, with start and end of the read in microseconds."""

    ranges: tuple[int, ...]
    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a comparison, which a later run may resume."""

    table_id: str
    consistency: str
    ranges: int
    store_version: int
    """Version of the store before the first read."""
    second: int
    """Digests ignore values that expire by this second."""
    digests: Mapping[int, RangeDigest] = field(default_factory=dict)
    """Digests of the live table, by range."""
    read: tuple[ReadRanges, ...] = ()
    """Ranges whose digests were read. Ranges without rows have no entry in `digests`."""
    stored: tuple[ReadRanges, ...] = ()
    """Groups of ranges whose live rows are stored, each in a subfolder named by its index."""
    is_finished: bool = False

    def unread(self) -> list[int]:
        """The ranges whose digests have not been read."""
        return _without(range(self.ranges), self.read)

    def differing(self, store: Mapping[int, RangeDigest]) -> list[int]:
        """The ranges whose digests differ between the live table and the store."""
        empty = RangeDigest()
        return [
            number
            for number in range(self.ranges)
            if _comparable(self.digests.get(number, empty)) != _comparable(store.get(number, empty))
        ]

    def to_store(self, differing: Iterable[int]) -> list[int]:
        """The differing ranges whose live rows are not stored yet."""
        return _without(differing, self.stored)

    def with_digests(self, group: ReadRanges, found: Mapping[int, RangeDigest]) -> "Progress":
        return replace(self, digests={**self.digests, **found}, read=(*self.read, group))

    def with_rows(self, group: ReadRanges) -> "Progress":
        return replace(self, stored=(*self.stored, group))

    @property
    def last_read_us(self) -> int:
        return max((each.to_us for each in (*self.read, *self.stored)), default=0)

    @property
    def live_rows(self) -> int:
        return sum(each.rows for each in self.digests.values())

    @property
    def live_oldest_us(self) -> int | None:
        """The smallest known write time in the live table; None if no write time is known."""
        known = [each.oldest_us for each in self.digests.values() if each.oldest_us is not None]
        return min(known, default=None)


_PROGRESS = TypeAdapter(Progress)


def progress_to_json(progress: Progress) -> str:
    return json.dumps({"format": _FORMAT, **asdict(progress)})


def progress_from_json(text: str) -> Progress:
    """Parse `progress_to_json`. Raises ValueError, KeyError or TypeError for any other text."""
    document: dict[str, Any] = json.loads(text)
    if document.pop("format") != _FORMAT:
        raise ValueError("unsupported format")
    # A member that is missing would become its default.
    if missing := {each.name for each in fields(Progress)} - document.keys():
        raise KeyError(", ".join(sorted(missing)))
    return _PROGRESS.validate_python(document)


def groups_of(ranges: Iterable[int], size: int) -> list[list[int]]:
    """Split ranges into groups that are read together."""
    found = list(ranges)
    return [found[start : start + size] for start in range(0, len(found), size)]


def _comparable(digest: RangeDigest) -> tuple[int, int]:
    return digest.rows, digest.hash


def _without(ranges: Iterable[int], groups: Iterable[ReadRanges]) -> list[int]:
    done = {number for group in groups for number in group.ranges}
    return [number for number in ranges if number not in done]


class WaitBudget:
    """The total time that a run may wait. Reads and comparisons between waits do not count."""

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
        """Observe at once and then every few seconds, until `is_done` or until no time is left.
        Returns the final observation."""
        found = observe()
        deadline_s = self._clock() + self._left_s
        while not is_done(found) and (left_s := deadline_s - self._clock()) > 0:
            self._pause(min(_POLL_S, left_s))
            found = observe()
        self._left_s = max(0.0, deadline_s - self._clock())
        return found
