"""What could not be delivered is kept with its reason, in lines of JSON.

    refused.ndjson     messages that the sink never takes, and bytes that give no message
    gaps.ndjson        ranges of time of which changes are missing

The directory is bounded and nothing in it is deleted. What has no room waits, and all behind it.
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
_REFUSED = "refused.ndjson"
_GAPS = "gaps.ndjson"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that give no message. `place` says which they are: a token, or a collection."""

    raw: bytes
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Changes behind `since` may be missing up to the time at which this was noted."""

    since: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the quarantine holds."""

    size_bytes: int = 0
    refused_events: int = 0
    """Messages that the sink never takes, and bytes that give no message."""
    gaps: int = 0
    """Ranges of time of which changes are missing."""


class Quarantine:
    """The directory, made when it is first needed. For one thread. Its methods raise OSError."""

    def __init__(self, directory: Path, max_bytes: int, agent_version: str) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._agent_version = agent_version
        self._refused = LineCount(directory / _REFUSED)
        self._gaps = LineCount(directory / _GAPS)

    def usage(self) -> Usage:
        """Counts what was added since the last call; the directory need not be there."""
        return Usage(self.size_bytes(), self._refused.count(), self._gaps.count())

    def size_bytes(self) -> int:
        """Of what it holds; it need not be there."""
        return sum(
            path.stat().st_size
            for name in (_REFUSED, _GAPS)
            if (path := self.directory / name).exists()
        )

    def keep(self, event: DeadLetter) -> bool:
        """A message that the sink refuses; False when there is no room."""
        return self._append(_REFUSED, event_line(event, self._agent_version))

    def keep_unreadable(self, unreadable: Unreadable) -> bool:
        """Bytes that give no message, as they came; False when there is no room."""
        return self._note(
            _REFUSED,
            raw_base64=base64.b64encode(unreadable.raw).decode(),
            place=unreadable.place,
            reason=unreadable.reason,
        )

    def note_gap(self, gap: Gap) -> bool:
        """Changes that are lost; False when there is no room."""
        return self._note(_GAPS, since=dict(gap.since), reason=gap.reason)

    def _note(self, file_name: str, **facts: object) -> bool:
        noted = {"noted_at": datetime.now(UTC).isoformat(), "agent_version": self._agent_version}
        return self._append(file_name, orjson.dumps(facts | noted) + b"\n")

    def _append(self, file_name: str, line: bytes) -> bool:
        if self.size_bytes() + len(line) > self.max_bytes:
            return False
        append_lines(self.directory / file_name, line)
        return True
