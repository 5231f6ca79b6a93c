"""Dead letters and missed ranges of time with their reasons, in lines of JSON.

    refused.ndjson     messages that the sink rejects, and bytes that give no message
    gaps.ndjson        ranges of time with missing changes

The directory is bounded, and the agent deletes nothing in it. Without room delivery waits.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from sidecar.files.fsync import append_lines
from sidecar.files.line_count import LineCount

DIRECTORY = "quarantine"
"""In `offset.backing.store.dir`."""
DEAD_LETTERS = "refused.ndjson"
GAPS = "gaps.ndjson"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that give no message. `place` is their token, or their collection."""

    raw: bytes
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class LostTimeRange:
    """Changes after `since` may be missing, up to the time of the record."""

    since: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the quarantine holds."""

    size_bytes: int = 0
    dead_letters: int = 0
    """Messages that the sink rejects, and bytes that give no message."""
    gaps: int = 0
    """Ranges of time with missing changes."""


class Quarantine:
    """The directory, made on first use. For one thread. Its methods raise OSError."""

    def __init__(self, directory: Path, max_bytes: int, agent_version: str) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._agent_version = agent_version
        self._dead_letters = LineCount(directory / DEAD_LETTERS)
        self._gaps = LineCount(directory / GAPS)

    def usage(self) -> Usage:
        """The present usage; the directory may be missing."""
        return Usage(self.size_bytes(), self._dead_letters.count(), self._gaps.count())

    def size_bytes(self) -> int:
        """Size of its files; the directory may be missing."""
        return sum(
            path.stat().st_size
            for name in (DEAD_LETTERS, GAPS)
            if (path := self.directory / name).exists()
        )

    def keep(self, record: DeadLetter | Unreadable | LostTimeRange) -> bool:
        """Keeps a record; False without room."""
        name = GAPS if isinstance(record, LostTimeRange) else DEAD_LETTERS
        line = self._line(record)
        if self.size_bytes() + len(line) > self.max_bytes:
            return False
        append_lines(self.directory / name, line)
        return True

    def _line(self, record: DeadLetter | Unreadable | LostTimeRange) -> bytes:
        content: dict[str, object]
        match record:
            case DeadLetter():
                return event_line(record, self._agent_version)
            case Unreadable(raw, place, reason):
                content = {"raw_base64": base64.b64encode(raw).decode(), "place": place}
            case LostTimeRange(since, reason):
                content = {"since": dict(since)}
        noted = {"noted_at": datetime.now(UTC).isoformat(), "agent_version": self._agent_version}
        return orjson.dumps({**content, "reason": reason, **noted}) + b"\n"
