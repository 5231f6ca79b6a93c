"""Why a segment is quarantined: the lost ranges, as its `.reason.json` lists them. Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import orjson

_MAX_RANGES = 1000


@dataclass(frozen=True, slots=True)
class LostRange:
    """Part of a segment that gave no events. `end` None: to the end of the segment."""

    start: int
    end: int | None
    cause: str
    table_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a segment is kept, as its `.reason.json` says."""

    segment: str
    agent_version: str
    noted_at: str
    ranges: tuple[LostRange, ...] = ()
    ranges_left_out: int = 0
    """How many more there were than are listed."""

    @property
    def count(self) -> int:
        """Of ranges, also of those that are not listed."""
        return len(self.ranges) + self.ranges_left_out

    def with_ranges(self, more: Iterable[LostRange]) -> "Reason":
        """Ranges that are listed already are not repeated; neighbours of one cause become one."""
        ranges = list(self.ranges)
        left_out = self.ranges_left_out
        for new in more:
            if any(_covers(old, new) for old in ranges):
                continue
            last = ranges[-1] if ranges else None
            if last is not None and _is_continued(last, new):
                ranges[-1] = replace(last, end=new.end)
            elif len(ranges) < _MAX_RANGES:
                ranges.append(new)
            else:
                left_out += 1
        return replace(self, ranges=tuple(ranges), ranges_left_out=left_out)


def parse_reason(text: bytes) -> Reason:
    """Raises ValueError, TypeError and KeyError for a text that is not a reason."""
    document = orjson.loads(text)
    ranges = document["ranges"]
    if not isinstance(ranges, list):
        raise TypeError("ranges must be a list")
    return Reason(
        segment=str(document["segment"]),
        agent_version=str(document["agent_version"]),
        noted_at=str(document["noted_at"]),
        ranges=tuple(LostRange(**lost) for lost in ranges),
        ranges_left_out=int(str(document["ranges_left_out"])),
    )


def reason_text(reason: Reason) -> bytes:
    """The content of `.reason.json`."""
    return orjson.dumps(asdict(reason), option=orjson.OPT_INDENT_2) + b"\n"


def _covers(old: LostRange, new: LostRange) -> bool:
    if (old.cause, old.table_id) != (new.cause, new.table_id) or new.start < old.start:
        return False
    return old.end is None or (new.end is not None and new.end <= old.end)


def _is_continued(last: LostRange, new: LostRange) -> bool:
    return (last.cause, last.table_id) == (new.cause, new.table_id) and last.end == new.start
