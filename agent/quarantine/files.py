"""Files in the quarantine, `<relocation directory>/error`: their names, and why a segment is there.

CommitLog-7-1699.log               a final segment with lost ranges
CommitLog-7-1699_cdc.idx
CommitLog-7-1699.log.reason.json   its lost ranges and their causes; written before the segment
CommitLog-7-1699.log.events.ndjson dead letters: events that the sink rejected
CommitLog-7-1699.log.remote        the remote directory that contains both files
CommitLog-7-1699.log.retry         requests that the agent reads the segment again
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from agent.cdc_raw.names import SegmentName, parse_log_name
from sidecar.bounded_json import bounded_json
from sidecar.files.regular import read_regular

DIRECTORY = "error"

REASON = ".reason.json"
EVENTS = ".events.ndjson"
REMOTE = ".remote"
RETRY = ".retry"

MAX_MARKER_BYTES = 4096
"""Size limit of `.remote`, which contains a remote directory."""


class QuarantinePaths:
    """The file paths of a segment or snapshot; `stem` is the prefix of their names."""

    def __init__(self, directory: Path, stem: str) -> None:
        self.log = directory / stem
        self.reason = directory / f"{stem}{REASON}"
        self.events = directory / f"{stem}{EVENTS}"
        self.remote = directory / f"{stem}{REMOTE}"
        self.retry = directory / f"{stem}{RETRY}"

    @property
    def remote_directory(self) -> str:
        """The remote directory that contains the segment; empty if the segment is stored locally.
        Raises OSError."""
        try:
            return read_regular(self.remote, MAX_MARKER_BYTES).decode().strip()
        except FileNotFoundError:
            return ""


def file_names(directory: Path) -> list[str]:
    """Lists the quarantine; empty without the directory. Raises OSError."""
    try:
        return [file.name for file in directory.iterdir()]
    except FileNotFoundError:
        return []


def segments_with_suffix(file_names: Iterable[str], suffix: str) -> frozenset[SegmentName]:
    """Returns segments with a file of this suffix; an empty suffix selects the `.log` files."""
    stems = (name.removesuffix(suffix) for name in file_names if name.endswith(suffix))
    found = (parse_log_name(stem) for stem in stems)
    return frozenset(name for name in found if name is not None)


_MAX_RANGES = 1000
MAX_REASON_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class LostRange:
    """Part of a segment that yielded no events. `end` is None for the end of the segment."""

    start: int
    end: int | None
    cause: str
    table_id: str | None = None


@dataclass(frozen=True, slots=True)
class QuarantineReason:
    """The lost ranges of one segment. Lists at most 1,000 ranges."""

    segment: str
    agent_version: str
    noted_at: str
    ranges: tuple[LostRange, ...] = ()
    ranges_left_out: int = 0
    """Number of further ranges, which are not listed."""

    @property
    def count(self) -> int:
        """Number of all ranges, listed or not."""
        return len(self.ranges) + self.ranges_left_out

    def with_ranges(self, more: Iterable[LostRange]) -> "QuarantineReason":
        """Adds ranges. Skips listed ranges, and joins adjacent ranges with the same cause."""
        ranges = list(self.ranges)
        left_out = self.ranges_left_out
        for new in more:
            if any(_covers(old, new) for old in ranges):
                continue
            last = ranges[-1] if ranges else None
            if last is not None and _continues(last, new):
                ranges[-1] = replace(last, end=new.end)
            elif len(ranges) < _MAX_RANGES:
                ranges.append(new)
            else:
                left_out += 1
        return replace(self, ranges=tuple(ranges), ranges_left_out=left_out)


def parse_reason(text: bytes) -> QuarantineReason:
    """Parses a reason. Raises ValueError, TypeError or KeyError for invalid text."""
    document = bounded_json(text, MAX_REASON_BYTES)
    ranges = document["ranges"]
    if not isinstance(ranges, list):
        raise TypeError("ranges must be a list")
    return QuarantineReason(
        segment=str(document["segment"]),
        agent_version=str(document["agent_version"]),
        noted_at=str(document["noted_at"]),
        ranges=tuple(LostRange(**lost) for lost in ranges),
        ranges_left_out=int(str(document["ranges_left_out"])),
    )


def reason_text(reason: QuarantineReason) -> bytes:
    """Returns the content of `.reason.json`."""
    return orjson.dumps(reason, option=orjson.OPT_INDENT_2) + b"\n"


def _covers(old: LostRange, new: LostRange) -> bool:
    if (old.cause, old.table_id) != (new.cause, new.table_id) or new.start < old.start:
        return False
    return old.end is None or (new.end is not None and new.end <= old.end)


def _continues(last: LostRange, new: LostRange) -> bool:
    return (last.cause, last.table_id) == (new.cause, new.table_id) and last.end == new.start
